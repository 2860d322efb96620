"""Users, organizations, tokens, and what the server says of itself."""

from __future__ import annotations

import secrets

from tests.support.forge import shapes
from tests.support.forge.calls import Answer, Call, answers, done
from tests.support.forge.errors import Refusal, not_found
from tests.support.forge.state import Token, User, World


def add_user(
    world: World, login: str, *, admin: bool = False, email: str = "", organization: bool = False
) -> User:
    user = User(
        world.next_id("user"),
        login,
        email or f"{login}@example.org",
        admin,
        organization,
        password="" if organization else f"{login}-password",
    )
    world.users[login.lower()] = user
    return user


def add_token(world: World, user: User, name: str = "", scopes: tuple[str, ...] = ("all",)) -> Token:
    token = Token(world.next_id("token"), user, name, secrets.token_hex(20), scopes)
    world.tokens[token.secret] = token
    return token


@answers("GET", "/version")
def version(call: Call) -> Answer:
    return Answer(body={"version": "development"})


@answers("GET", "/settings/ui")
def settings_ui(call: Call) -> Answer:
    allowed = list(call.world.allowed_reactions)
    custom = ["git", "gitea", "codeberg", "gitlab", "github", "gogs", "forgejo"]
    return Answer(
        body={"default_theme": "forgejo-auto", "allowed_reactions": allowed, "custom_emojis": custom}
    )


@answers("GET", "/settings/api")
def settings_api(call: Call) -> Answer:
    return Answer(
        body={
            "max_response_items": 50,
            "default_paging_num": 30,
            "default_git_trees_per_page": 1000,
            "default_max_blob_size": 10485760,
        }
    )


@answers("GET", "/user")
def me(call: Call) -> Answer:
    return Answer(body=shapes.user(call.world, call.me(), call.me()))


@answers("GET", "/users/{username}")
def one(call: Call) -> Answer:
    return Answer(body=shapes.user(call.world, call.named_user(call.argument("username")), call.user))


@answers("GET", "/users/search")
def search(call: Call) -> Answer:
    wanted = call.query.get("q", "").lower()
    found = [user for name, user in call.world.users.items() if wanted in name and not user.is_organization]
    page = call.page(found, lambda user: shapes.user(call.world, user, call.user))
    page.body = {"ok": True, "data": page.body}
    return page


@answers("POST", "/admin/users")
def create(call: Call) -> Answer:
    if not call.me().is_admin:
        raise Refusal(403, "user should be the site admin")
    login = call.required("username")
    if login.lower() in call.world.users:
        raise Refusal(422, f"user already exists [name: {login}]")
    user = add_user(call.world, login, email=call.body.get("email", ""))
    user.password = call.body.get("password", user.password)
    return Answer(201, shapes.user(call.world, user, call.user))


@answers("GET", "/users/{username}/tokens")
def tokens(call: Call) -> Answer:
    _with_password(call)
    mine = [token for token in call.world.tokens.values() if token.user is call.user]
    return call.page(mine, _token)


@answers("POST", "/users/{username}/tokens")
def create_token(call: Call) -> Answer:
    """Only with the password: a token cannot make tokens."""
    user = _with_password(call)
    scopes = tuple(call.body.get("scopes") or ())
    if not scopes:
        raise Refusal(400, "access token must have a scope")
    token = add_token(call.world, user, call.required("name"), scopes)
    return Answer(201, {**_token(token), "sha1": token.secret})


@answers("DELETE", "/users/{username}/tokens/{token}")
def delete_token(call: Call) -> Answer:
    user = _with_password(call)
    wanted = call.argument("token")
    for secret, token in call.world.tokens.items():
        if token.user is user and wanted in (token.name, str(token.id)):
            del call.world.tokens[secret]
            return done()
    raise not_found()


@answers("POST", "/orgs")
def create_organization(call: Call) -> Answer:
    call.me()
    login = call.required("username")
    if login.lower() in call.world.users:
        raise Refusal(422, f"user already exists [name: {login}]")
    return Answer(201, shapes.organization(call.world, add_user(call.world, login, organization=True)))


@answers("GET", "/orgs/{org}")
def organization(call: Call) -> Answer:
    user = call.named_user(call.argument("org"))
    if not user.is_organization:
        raise not_found()
    return Answer(body=shapes.organization(call.world, user))


def _with_password(call: Call) -> User:
    if call.user is None or not call.by_password:
        raise Refusal(401, "auth required")
    if call.argument("username").lower() != call.user.login.lower() and not call.user.is_admin:
        raise Refusal(403, "")
    return call.named_user(call.argument("username"))


def _token(token: Token) -> dict[str, object]:
    return {
        "id": token.id, "name": token.name, "sha1": "", "token_last_eight": token.secret[-8:],
        "scopes": list(token.scopes),
    }  # fmt: skip
