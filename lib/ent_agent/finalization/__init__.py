"""After a run: all of it saved, judged, published and handed back."""
