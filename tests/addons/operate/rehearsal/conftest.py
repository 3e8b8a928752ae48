from tests.unit.network.cluster.conftest import server as server
from tests.unit.network.cluster.conftest import world as world
