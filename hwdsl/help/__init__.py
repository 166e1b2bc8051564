"""What `hwdsl explain` and the pages about names and diagnostics say."""
