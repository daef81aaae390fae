"""What programs use beside computing: times, event files, downloads, who else is there. Found under torch's paths, in ``utils``."""
