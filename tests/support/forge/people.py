"""A person who uses the forge in a test: few words, real requests."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from tests.support.forge.refs import moved

if TYPE_CHECKING:
    from tests.support.forge.server import StandIn

Json = dict[str, Any]


class Refused(AssertionError):
    """The forge said no."""

    def __init__(self, status: int, body: Any, what: str) -> None:
        super().__init__(f"{what}: {status} {body}")
        self.status, self.body = status, body


@dataclass
class Answered:
    status: int
    headers: dict[str, str]
    body: Any


class Person:
    def __init__(self, url: str, token: str, login: str, forge: StandIn) -> None:
        self.url, self.token, self.login, self.forge = url, token, login, forge

    def ask(self, method: str, path: str, body: Any = None) -> Answered:
        """Any request of the API, whatever comes of it; `path` begins after `/api/v1`."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
        headers = {"Authorization": f"token {self.token}", "Content-Type": "application/json"}
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, f"/api/v1{path}", content, headers)
            answer = connection.getresponse()
            text = answer.read()
            is_json = answer.headers.get("Content-Type", "").startswith("application/json")
            shown = json.loads(text) if is_json else text.decode() if text else None
            return Answered(answer.status, dict(answer.headers), shown)
        finally:
            connection.close()

    def do(self, method: str, path: str, body: Any = None) -> Any:
        """The body of a success; Refused otherwise."""
        answer = self.ask(method, path, body)
        if answer.status >= 300:
            raise Refused(answer.status, answer.body, f"{self.login} {method} {path}")
        return answer.body

    def open_issue(
        self,
        repository: str,
        title: str,
        body: str = "",
        *,
        labels: Sequence[str] = (),
        assignees: Sequence[str] = (),
    ) -> int:
        """The number of the new issue. Labels by name, made where they are missing."""
        numbers = [self.label_id(repository, name) for name in labels]
        fields = {"title": title, "body": body, "labels": numbers, "assignees": list(assignees)}
        return int(self.do("POST", f"/repos/{repository}/issues", fields)["number"])

    def issue(self, repository: str, number: int) -> Json:
        return dict(self.do("GET", f"/repos/{repository}/issues/{number}"))

    def edit(self, repository: str, number: int, **fields: Any) -> Json:
        return dict(self.do("PATCH", f"/repos/{repository}/issues/{number}", fields))

    def close(self, repository: str, number: int) -> None:
        self.edit(repository, number, state="closed")

    def reopen(self, repository: str, number: int) -> None:
        self.edit(repository, number, state="open")

    def assign(self, repository: str, number: int, *logins: str) -> None:
        self.edit(repository, number, assignees=list(logins))

    def comment(self, repository: str, number: int, body: str) -> int:
        """The id of the comment."""
        return int(self.do("POST", f"/repos/{repository}/issues/{number}/comments", {"body": body})["id"])

    def edit_comment(self, repository: str, comment: int, body: str) -> None:
        self.do("PATCH", f"/repos/{repository}/issues/comments/{comment}", {"body": body})

    def delete_comment(self, repository: str, comment: int) -> None:
        self.do("DELETE", f"/repos/{repository}/issues/comments/{comment}")

    def comments(self, repository: str, number: int) -> list[Json]:
        return list(self.do("GET", f"/repos/{repository}/issues/{number}/comments"))

    def reactions(self, repository: str, number: int, comment: int = 0) -> list[tuple[str, str]]:
        """(login, content) of an issue, or of a comment."""
        path = f"comments/{comment}" if comment else str(number)
        found = self.do("GET", f"/repos/{repository}/issues/{path}/reactions") or []
        return [(one["user"]["login"], one["content"]) for one in found]

    def label_id(self, repository: str, name: str) -> int:
        """The id of a label of the repository, made where it is missing."""
        for label in self.do("GET", f"/repos/{repository}/labels?limit=50"):
            if label["name"] == name:
                return int(label["id"])
        return int(self.do("POST", f"/repos/{repository}/labels", {"name": name, "color": "#0e8a16"})["id"])

    def labels(self, repository: str, number: int) -> list[str]:
        return [label["name"] for label in self.do("GET", f"/repos/{repository}/issues/{number}/labels")]

    def label(self, repository: str, number: int, *names: str) -> None:
        numbers = [self.label_id(repository, name) for name in names]
        self.do("POST", f"/repos/{repository}/issues/{number}/labels", {"labels": numbers})

    def unlabel(self, repository: str, number: int, name: str) -> None:
        self.do("DELETE", f"/repos/{repository}/issues/{number}/labels/{self.label_id(repository, name)}")

    def depend(self, repository: str, number: int, on: int) -> None:
        owner, name = repository.split("/")
        fields = {"owner": owner, "repo": name, "index": on}
        self.do("POST", f"/repos/{repository}/issues/{number}/dependencies", fields)

    def push(
        self,
        repository: str,
        branch: str,
        files: Mapping[str, str | bytes | None],
        message: str = "A change",
        *,
        start: str = "",
    ) -> str:
        """A commit of this person's on a branch (begun at `start`, else the default branch); None deletes a file.

        With everything that follows a push, but without git's way over HTTP. Returns the commit's id.
        """
        from tests.support.forge.branches import may_push

        world = self.forge.world
        with world.lock:
            where, user = world.repositories[repository.lower()], world.users[self.login.lower()]
            if not where.allows(user, "write") or not may_push(where, branch, user):
                raise Refused(403, None, f"{self.login} may not push to {branch}")
            bare, begin = where.bare, start or where.default_branch
            before = bare.refs()
            name, email = user.login, user.email
            sha = bare.commit_files(
                branch, files, message.rstrip("\n") + "\n", name, email, bare.resolve(begin)
            )
            moved(world, self.forge.events, where, before, bare.refs(), user)
        return sha

    def open_pull(self, repository: str, head: str, title: str, body: str = "", base: str = "main") -> int:
        fields = {"head": head, "base": base, "title": title, "body": body}
        return int(self.do("POST", f"/repos/{repository}/pulls", fields)["number"])

    def pull(self, repository: str, number: int) -> Json:
        return dict(self.do("GET", f"/repos/{repository}/pulls/{number}"))

    def pulls(self, repository: str, state: str = "open") -> list[Json]:
        return list(self.do("GET", f"/repos/{repository}/pulls?state={state}&limit=50"))

    def review(
        self,
        repository: str,
        number: int,
        what: str,
        body: str = "",
        inline: Sequence[tuple[str, int, str]] = (),
    ) -> int:
        """`what`: approve, request_changes or comment. `inline`: (path, line of the new side, text). Returns the id."""
        event = {"approve": "APPROVED", "request_changes": "REQUEST_CHANGES", "comment": "COMMENT"}[what]
        comments = [{"path": path, "new_position": line, "body": text} for path, line, text in inline]
        fields = {"event": event, "body": body, "comments": comments}
        return int(self.do("POST", f"/repos/{repository}/pulls/{number}/reviews", fields)["id"])

    def ask_for_review(self, repository: str, number: int, *logins: str) -> None:
        self.do(
            "POST", f"/repos/{repository}/pulls/{number}/requested_reviewers", {"reviewers": list(logins)}
        )

    def merge(self, repository: str, number: int, style: str = "merge") -> None:
        """Waits for the forge's check, as a person does who reads "try again later"."""
        self.forge.settle()
        self.do("POST", f"/repos/{repository}/pulls/{number}/merge", {"Do": style})

    def delete_branch(self, repository: str, branch: str) -> None:
        self.do("DELETE", f"/repos/{repository}/branches/{quote(branch, safe='')}")

    def protect(self, repository: str, branch: str, **rules: Any) -> None:
        self.do("POST", f"/repos/{repository}/branch_protections", {"branch_name": branch, **rules})

    def set_status(self, repository: str, sha: str, context: str, state: str = "success") -> None:
        self.do("POST", f"/repos/{repository}/statuses/{sha}", {"context": context, "state": state})

    def archive(self, repository: str) -> None:
        self.do("PATCH", f"/repos/{repository}", {"archived": True})

    def file(self, repository: str, path: str, ref: str) -> str | None:
        """The text of a file at a branch or commit; None where it is not there."""
        answer = self.ask("GET", f"/repos/{repository}/raw/{quote(path)}?ref={quote(ref, safe='')}")
        return None if answer.status == 404 else str(answer.body or "")
