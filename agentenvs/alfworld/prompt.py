"""What ALFWorld tells a language model about itself."""

from agentenvs.prompting.template import PromptTemplate

TEMPLATE = PromptTemplate(
    role=(
        "You act in a household through a text interface. You find objects, change them and bring "
        "them where the task wants them."
    ),
    rules=(
        "You stand at one place at a time and hold at most one object. An action is one command:\n"
        "- go to <receptacle>: walk to a piece of furniture, an appliance or another container.\n"
        "- open <receptacle>, close <receptacle>: what is inside a closed receptacle can neither "
        "be seen nor taken.\n"
        "- take <object> from <receptacle>: pick an object up, with empty hands.\n"
        "- move <object> to <receptacle>: put down what you hold; "
        "put <object> in/on <receptacle> means the same.\n"
        "- clean <object> with <receptacle>: at a sink or a basin, holding the object.\n"
        "- heat <object> with <receptacle>: at a microwave, holding the object.\n"
        "- cool <object> with <receptacle>: at a fridge, holding the object.\n"
        "- slice <object> with <object>: holding a knife.\n"
        "- use <object>: switch on a lamp.\n"
        "- examine <receptacle>, examine <object>: look closely.\n"
        "- look, inventory, help: where you are, what you hold, the list of commands.\n"
        "Name things with their number, as in: take apple 1 from countertop 2. A command that does "
        'not apply costs a step and is answered with "Nothing happens."'
    ),
)
