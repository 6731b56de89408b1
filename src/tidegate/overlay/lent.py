"""Arrays that kernels lend each other without counting references.

Numba counts, at almost every call of a kernel by a kernel, the references to each array that it is given, also where
they come together in a named tuple. Peers and scratch are two dozen arrays: a third of a simulation was counting.
"""

from typing import Any

from numba import types
from numba.extending import intrinsic


@intrinsic
def lent(typing_context: Any, arrays: Any) -> Any:
    """Return an array, or a tuple of arrays and other things, as it is, but that references are not counted.

    Whoever calls keeps the arrays alive until it has returned, as a kernel does with its arguments.
    """

    def uncounted(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        if isinstance(kind, types.Array):
            array = context.make_array(kind)(context, builder, value)
            array.meminfo = array.meminfo.type(None)
            return array._getvalue()
        if isinstance(kind, types.BaseTuple):
            # Those inside, too: what is returned was not counted, and would be let go once too often.
            for k, part in enumerate(kind.types):
                inner = uncounted(context, builder, part, builder.extract_value(value, k))
                value = builder.insert_value(value, inner, k)
        return value

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return uncounted(context, builder, arrays, args[0])

    return (arrays(arrays), generate) if isinstance(arrays, types.Array | types.BaseTuple) else None
