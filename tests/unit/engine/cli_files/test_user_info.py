import pytest

from chartkit.engine.cli_files.user_files import read_user_info
from chartkit.engine.request import User
from chartkit.errors import InputError
from chartkit.model import Json, Location

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


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([], "user info must be a mapping"),
        ({"userInfo": []}, "userInfo must be a mapping"),
        ({"userInfo": {"username": 1}}, "userInfo.username must be a text"),
        ({"userInfo": {"groups": "a"}}, "userInfo.groups must be a list"),
        ({"userInfo": {"extra": []}}, None),
        ({"userInfo": {"extra": [1]}}, "userInfo.extra must be a mapping"),
        ({"roles": [1]}, "each of roles must be a text"),
        ({"clusterRoles": {}}, "clusterRoles must be a list"),
        ({"kind": "Pod", "spec": {}}, "holds no user info but a Pod"),
        ({"username": "ann"}, "user info has no 'username' .known are apiVersion, "),
        ({"userInfo": {"name": "ann"}}, "userInfo has no 'name' .known are username, "),
    ],
)
def test_what_is_wrong(body: Json, message: str | None) -> None:
    if message is None:
        assert read_user_info(body, PLACE) == User()
        return
    with pytest.raises(InputError, match=message) as caught:
        read_user_info(body, PLACE)
    assert str(caught.value).startswith("user.yaml:1: ")
