"""The API is as it describes itself: schemathesis asks it whatever the description allows, and what it does not."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import ignored_auth, negative_data_rejection, positive_data_acceptance

from tests.serve.process import ServerProcess
from tests.serve.scene import Scene, bearer
from tests.serve.test_authorisation import DOORS, OPEN_TO_ALL, Door

# A query, a region or a ranking can be as the schema says, and still mean nothing; and who shows wrong keys again and
# again is soon told to wait, which is not what the check expects (`test_authorisation` has every route).
_NOT_CHECKED = [positive_data_acceptance, ignored_auth]
# These make the key invalid that they are asked with.
_KEYS_END_HERE = ("/keys/rotate", "/keys/current")
# A live feed does not end, and what a WebSocket says OpenAPI has no words for.
DESCRIBED = [door for door in DOORS if door.path not in ("/live", "/ws")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("serve")) as started:
        started.sign_up("ana")
        yield started


@pytest.fixture(scope="module")
def description(server: ServerProcess) -> BaseSchema:
    return schemathesis.openapi.from_url(f"{server.url}/openapi.json")


@pytest.mark.parametrize("door", DESCRIBED, ids=lambda door: f"{door.method} {door.path}")
def test_the_api_is_as_it_is_described(door: Door, description: BaseSchema, server: ServerProcess) -> None:
    operation = description[door.path][door.method]
    # What is wrong as a value (false for a name, nothing for a time) may be right as it is written in an address.
    unsure = [negative_data_rejection] if door.route.dependant.query_params else []

    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(case=st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in GenerationMode)))
    def check(case: Case[Any]) -> None:
        key = server.further_key("ana") if door.path in _KEYS_END_HERE else server.operator_key
        case.call_and_validate(headers=bearer(key), excluded_checks=[*_NOT_CHECKED, *unsure])

    check()


def test_every_operation_says_what_it_does_and_how_it_refuses(scene: Scene) -> None:
    document = scene.client.get("/openapi.json").json()
    operations = [
        (f"{method} {path}", operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    assert len(operations) > 20
    for name, operation in operations:
        assert operation["summary"], name
        assert operation["description"], name
        refusals = {status: each for status, each in operation["responses"].items() if int(status) >= 400}
        for status, each in refusals.items():
            assert list(each["content"]) == ["application/problem+json"], (name, status)
        if name == "get /healthz":
            continue
        assert {"413", "422", "429", "500", "503"} <= refusals.keys(), name
        is_locked = name.split()[1] not in OPEN_TO_ALL
        assert ("401" in refusals) == is_locked, name
        assert operation.get("security") == ([{"key": []}] if is_locked else None), name
        for parameter in operation.get("parameters", ()):
            assert parameter.get("description"), (name, parameter["name"])
    assert list(document["paths"]["/live"]["get"]["responses"]["200"]["content"]) == ["text/event-stream"]
    bodies = [
        each["requestBody"]["content"]["application/json"]["schema"] for _, each in operations if "requestBody" in each
    ]
    assert len(bodies) >= 7
    assert "Problem" in document["components"]["schemas"]
