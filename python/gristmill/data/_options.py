"""Options of a dataset."""

from __future__ import annotations

from typing import Any

from gristmill.errors import InvalidArgumentError


class _Group:
    """A group of options that are kept and have no effect, unless said otherwise."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __repr__(self) -> str:
        inner = ", ".join(f"{k}={v!r}" for k, v in vars(self).items())
        return f"{type(self).__name__}({inner})"


class AutotuneOptions(_Group):
    """Options of autotuning.

    Attributes:
        ram_budget: Bytes that may be made ahead.
    """

    def __init__(self) -> None:
        super().__init__(autotune_algorithm=None, enabled=None, cpu_budget=None, ram_budget=None)


class ThreadingOptions(_Group):
    """Options of threads.

    Attributes:
        private_threadpool_size: Number of worker threads.
    """

    def __init__(self) -> None:
        super().__init__(max_intra_op_parallelism=None, private_threadpool_size=None)


class OptimizationOptions(_Group):
    """Options of the optimiser.

    Attributes:
        apply_default_optimizations: Whether rules may rewrite the plan.
    """

    def __init__(self) -> None:
        super().__init__(
            apply_default_optimizations=None,
            map_and_batch_fusion=None,
            map_parallelization=None,
            noop_elimination=None,
            parallel_batch=None,
        )


class DistributeOptions(_Group):
    """Options of distribution; `Dataset.shard` is what shards."""

    def __init__(self) -> None:
        super().__init__(auto_shard_policy=None, num_devices=None)


class Options:
    """How a dataset may be run; see `Dataset.with_options`.

    Attributes:
        deterministic: ``False`` permits another order where that is faster.
        autotune: `AutotuneOptions`.
        threading: `ThreadingOptions`.
        experimental_optimization: `OptimizationOptions`.
        experimental_distribute: `DistributeOptions`.
        image_decode: An option of this library. ``"exact"`` (as is ``None``): TensorFlow's values,
            bit for bit. ``"fast"``: where a function of `map` decodes a JPEG and resizes it
            bilinearly to at most an eighth of its height and width (of the window, if one is cut
            out in between), the photo is decoded at an eighth and resized with antialiasing.
            Bound, over the values of photos: off those of the whole photo resized with
            ``antialias=True`` by at most 3 of 255 levels in the mean, 99 % by at most 16, all by
            at most 60 (2.3, 13 and 48 measured on 1,313 photos). Without antialiasing exact mode
            is itself 15 levels off these. Windows, mirrors, errors and order are those of exact
            mode; a state goes on in its own mode only, and a cache holds the elements of each
            mode apart. Smaller photos, CMYK, other formats and other methods are exact; `explain`
            shows the rule ``scale_image_decode``.
    """

    def __init__(self) -> None:
        self.deterministic: bool | None = None
        self.autotune = AutotuneOptions()
        self.threading = ThreadingOptions()
        self.experimental_optimization = OptimizationOptions()
        self.experimental_distribute = DistributeOptions()
        self.experimental_slack: bool | None = None
        self.dataset_name: str | None = None
        self.image_decode: str | None = None

    @property
    def experimental_deterministic(self) -> bool | None:
        """The old name of ``deterministic``."""
        return self.deterministic

    @experimental_deterministic.setter
    def experimental_deterministic(self, value: bool | None) -> None:
        self.deterministic = value

    @property
    def experimental_threading(self) -> ThreadingOptions:
        """The old name of ``threading``."""
        return self.threading

    def merge(self, options: Options) -> Options:
        """Returns these options, overridden by what ``options`` sets."""
        out = Options()
        for name, made in vars(out).items():
            for given in (getattr(self, name), getattr(options, name)):
                if isinstance(made, _Group):
                    vars(made).update({k: v for k, v in vars(given).items() if v is not None})
                elif given is not None:
                    setattr(out, name, given)
        return out

    def _native(self) -> dict[str, Any]:
        """Returns the options that the engine knows.

        Raises:
            ValueError: If a size is negative or ``image_decode`` has another name.
        """
        if self.image_decode not in (None, "exact", "fast"):
            raise InvalidArgumentError(
                f"image_decode must be 'exact' or 'fast', found {self.image_decode!r}"
            )
        optimize = self.experimental_optimization.apply_default_optimizations  # type: ignore[attr-defined]
        threads = self.threading.private_threadpool_size  # type: ignore[attr-defined]
        return {
            "deterministic": self.deterministic,
            "ram_budget": _size(self.autotune.ram_budget, "autotune.ram_budget"),  # type: ignore[attr-defined]
            # 0 is TensorFlow's word for "as many as fit the machine".
            "threads": _size(threads, "threading.private_threadpool_size") or None,
            "optimize": optimize,
            "fast_images": None if self.image_decode is None else self.image_decode == "fast",
        }


def _size(value: Any, what: str) -> int | None:
    if value is None:
        return None
    if not 0 <= int(value) < 2**63:
        raise InvalidArgumentError(f"{what} must be >= 0 and fit in int64, found {value}")
    return int(value)
