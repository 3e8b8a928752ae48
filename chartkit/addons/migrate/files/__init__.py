"""Files of legacy policies rewritten: `chartkit migrate policies`.

It imports the converter, the proof and the inventory of this room, and writes through `report`.
"""
