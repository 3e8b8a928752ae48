"""The libraries that cel-go brings beside the standard one."""
