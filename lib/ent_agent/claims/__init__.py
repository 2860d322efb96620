"""One host at a time: a ref of origin per issue, held while a run is on."""
