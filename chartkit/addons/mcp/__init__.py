"""What chartkit answers, as tools for agents, by the Model Context Protocol."""
