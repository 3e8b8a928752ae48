import pytest

from chartkit.engine.cli_files.user_files import read_user_info
from chartkit.engine.request import User
from chartkit.errors import InputError
from chartkit.model import Json, Location
from tests.data import from_table

PLACE = Location("user.yaml", 1)


def test_user_info_name_who_asks() -> None:
    body = {
        "roles": ["shop:edit"],
        "clusterRoles": ["view"],
        "userInfo": {"username": "ann", "uid": "1", "groups": ["g"], "extra": {"k": ["v"]}},
    }
    expected = User("ann", "1", ("g",), {"k": ["v"]}, ("shop:edit",), ("view",))
    assert read_user_info(body, PLACE) == expected
    assert read_user_info({}, PLACE) == User()


@from_table("body", "message")
def test_what_is_wrong(body: Json, message: str | None) -> None:
    if message is None:
        assert read_user_info(body, PLACE) == User()
        return
    with pytest.raises(InputError, match=message) as caught:
        read_user_info(body, PLACE)
    assert str(caught.value).startswith("user.yaml:1: ")
