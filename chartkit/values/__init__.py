"""Values files that people write: checked (`lint`), and moved from older charts (`migrate`)."""
