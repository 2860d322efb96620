"""Which issues are to be worked, who is concerned with them, and what earlier runs came to."""
