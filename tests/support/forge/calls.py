"""One request to the API, the table of who answers it, and pages of lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlencode

from tests.support.forge.errors import Refusal, archived, not_found
from tests.support.forge.state import Issue, Pull, Repository, User, World

if TYPE_CHECKING:
    from tests.support.forge.events import Events

Found = TypeVar("Found")
DEFAULT_LIMIT, MOST = 30, 50


@dataclass
class Answer:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    text: bytes | None = None
    empty: bool = False


@dataclass
class Call:
    world: World
    events: Events
    user: User | None
    path: str
    arguments: dict[str, str]
    query: dict[str, str]
    body: dict[str, Any]
    by_password: bool = False

    def me(self) -> User:
        if self.user is None:
            raise Refusal(401, "token is required")
        return self.user

    def argument(self, name: str) -> str:
        return unquote(self.arguments[name])

    def repository(self, wanted: str = "read", *, change: bool = False) -> Repository:
        """The repository of the path, where the caller has at least that mode; 423 when changed in the archive."""
        name = f"{self.argument('owner')}/{self.argument('repo')}".lower()
        repository = self.world.repositories.get(name)
        if repository is None or not repository.allows(self.user, "read"):
            raise not_found()
        if change or wanted != "read":
            self.me()
        if not repository.allows(self.user, wanted):
            who = "have a permission to write to a repo"
            if wanted == "admin":
                who = "be an owner or a collaborator with admin write of a repository"
            raise Refusal(403, f"user should {who}")
        if change and repository.archived:
            raise archived(repository.id, repository.full_name)
        return repository

    def issue(self, repository: Repository) -> Issue:
        issue = repository.issues.get(int(self.arguments["index"]))
        if issue is None:
            raise not_found()
        return issue

    def pull(self, repository: Repository) -> tuple[Issue, Pull]:
        issue = self.issue(repository)
        if issue.pull is None:
            raise not_found()
        return issue, issue.pull

    def named_user(self, login: str) -> User:
        user = self.world.users.get(login.lower())
        if user is None:
            raise not_found(f"user does not exist [uid: 0, name: {login}]")
        return user

    def required(self, name: str) -> str:
        value = self.body.get(name)
        if not isinstance(value, str) or not value:
            raise Refusal(422, f"[{name.title()}]: Required")
        return value

    def page(self, items: Sequence[Any], show: Callable[[Any], Any], *, links: bool = True) -> Answer:
        """One page; `limit` is cut to 50, 30 when not given; Link only where there is another page."""
        limit = min(self._number("limit", DEFAULT_LIMIT) or DEFAULT_LIMIT, MOST)
        page = max(self._number("page", 1), 1)
        shown = [show(item) for item in items[(page - 1) * limit : page * limit]]
        headers = {"X-Total-Count": str(len(items))}
        link = self._links(page, -(-len(items) // limit)) if links else ""
        if link:
            headers["Link"] = link
        return Answer(body=shown, headers=headers)

    def _number(self, name: str, otherwise: int) -> int:
        value = self.query.get(name, "")
        return int(value) if value.isdigit() else otherwise

    def _links(self, page: int, last: int) -> str:
        wanted = {}
        if page < last:
            wanted = {"next": page + 1, "last": last}
        if page > 1 and last >= 1:
            wanted |= {"first": 1, "prev": min(page, last) - 1 or 1}
        return ",".join(
            f'<{self.world.url}/api/v1{self.path}?{urlencode(sorted({**self.query, "page": number}.items()))}>; rel="{name}"'
            for name, number in wanted.items()
        )


Handler = Callable[[Call], Answer]
HANDLERS: dict[tuple[str, str], Handler] = {}


def answers(method: str, template: str) -> Callable[[Handler], Handler]:
    """Registers who answers a path of the recorded description."""

    def register(handler: Handler) -> Handler:
        HANDLERS[method, template] = handler
        return handler

    return register


def done(status: int = 204) -> Answer:
    """An answer without a body."""
    return Answer(status=status, empty=True)


def pick(items: Sequence[Found], id: str | int) -> Found:
    """The one with that id; 404 otherwise."""
    for item in items:
        if getattr(item, "id", None) == int(id):
            return item
    raise not_found()
