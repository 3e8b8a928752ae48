"""Work in several processes: inputs in parts by bytes, a pool of workers, and results in the order
of the inputs. A room that evaluates many things maps them with `pool`; it imports no other room
than `documents` but for `judged`, `scanning` and `streaming`, which are the scan's own."""
