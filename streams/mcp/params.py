"""Parameters that many tools have."""

from typing import Annotated

from pydantic import Field

from schemas.fields import DomainField, Identifier, Instruction, UserIdField

User = Annotated[
    UserIdField | None, Field(description="Whose skill it is. Leave it out, unless you act for several people.")
]
Domain = Annotated[
    DomainField | None, Field(description="What is chosen, as the app calls it, such as `films`; out if configured.")
]
Request = Annotated[Instruction, Field(description="What the person asked for, in their own words.")]
Session = Annotated[
    Identifier | None, Field(description="The id of this conversation, so that what holds for it alone stays in it.")
]
