"""Records as points: exact nearest and farthest queries."""
