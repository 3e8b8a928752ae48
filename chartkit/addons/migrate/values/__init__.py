"""Values files of older charts made into values of the charts as they are now."""
