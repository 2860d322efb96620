"""What every run would make anew, made where the steps are forked from: importing it compiles the templates."""

from harness import templates

templates.compile_shipped()
