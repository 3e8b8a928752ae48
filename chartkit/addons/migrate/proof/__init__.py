"""The proof of a conversion: both forms of a policy asked about the same requests.

`prove` makes requests from what both forms look at, compares the answers, reduces each difference
to the smallest request that makes it, and says what was reached. It imports the engine, the
defaults of an API server (`scan.api_defaults`) and nothing of the converter.
"""

from chartkit.addons.migrate.proof.model import Answer as Answer
from chartkit.addons.migrate.proof.model import Aspect as Aspect
from chartkit.addons.migrate.proof.model import Coverage as Coverage
from chartkit.addons.migrate.proof.model import Difference as Difference
from chartkit.addons.migrate.proof.model import Proof as Proof
from chartkit.addons.migrate.proof.model import Reached as Reached
from chartkit.addons.migrate.proof.model import Result as Result
from chartkit.addons.migrate.proof.requests.case import Case as Case
from chartkit.addons.migrate.proof.requests.case import case_of as case_of
from chartkit.addons.migrate.proof.run import ProofOptions as ProofOptions
from chartkit.addons.migrate.proof.run import prove as prove
from chartkit.addons.migrate.proof.run import requests_of as requests_of
