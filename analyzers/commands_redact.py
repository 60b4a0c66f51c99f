"""The command that makes a copy which can be shared: ``redact``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analyzers.failure import Failure, safe
from analyzers.path_patterns import BadPattern, patterns
from analyzers.readers.sources import NoSuchSource
from analyzers.reading import print_json, report
from analyzers.redact_files import NotRedacted, Outcome, Wish, redact_files
from analyzers.scrambled_text import Found, Span

_REMEMBERED = 1 << 18  # strings that were learnt from


def redact(
    source: str,
    target: str,
    keep: Sequence[str],
    drop: Sequence[str],
    fold_over: int | None,
    keep_text: bool,
    as_capture: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Writes a redacted copy. ``fold_over``: fold longer strings; ``keep_text``: replace only what is found to be
    personal or secret. Fails, and writes nothing, when something of the original still shows."""
    if fold_over is not None and fold_over < 0:
        raise Failure(f"--fold-over {fold_over} folds nothing: give a number of characters from 0", 2)
    if as_capture not in (None, "capture"):
        raise Failure(f"--as {as_capture!r} is not known: the only other form is `capture`", 2)
    try:
        root = patterns(keep, drop)
        wish = Wish(root, detector(source) if keep_text else None, fold_over, as_capture is not None, force)
        outcome = redact_files(source, target, wish)
    except (BadPattern, NotRedacted) as error:
        raise Failure(str(error), error.code if isinstance(error, NotRedacted) else 2) from None
    except NoSuchSource as error:
        raise Failure(str(error), 3) from None
    except OSError as error:
        raise Failure(f"{error.filename or target} cannot be read or written ({error.strerror or error})", 3) from None
    report(outcome.problems)
    _print(outcome, as_json)


def _print(outcome: Outcome, as_json: bool) -> None:
    if as_json:
        rows = [
            {"file": one.file, "kind": one.kind, "records": one.records, "withheld": one.withheld}
            for one in outcome.written
        ]
        print_json({"written": rows, "problems": len(outcome.problems)})
        return
    for one in outcome.written:
        withheld = f", {one.withheld} withheld" if one.withheld else ""
        print(f"wrote {safe(one.file)}: {one.records:,} records redacted and checked{withheld}")


def detector(source: str) -> Found:
    """What finds personal data and secrets in a text, with what the file itself tells of who it is about: a home folder
    names its owner, who is then found in a listing too. What cannot be looked into counts as found."""
    from analyzers.detect.known import Known
    from analyzers.detect.text import look
    from analyzers.readers.sources import Sources
    from analyzers.strings import strings

    known = Known(words=True)
    learnt: set[int] = set()
    for exchange in Sources([source]).exchanges([]):
        for text in strings(exchange):
            if type(text.value) is not str or (mark := hash((text.value, text.key))) in learnt:
                continue
            if len(learnt) >= _REMEMBERED:
                learnt.clear()
            learnt.add(mark)
            known.learn(look(text.value, text.key).found)

    def found(text: str, name: str | None) -> Iterable[Span]:
        looked = look(text, name, known)
        return [*((one.start, one.end) for one in looked.found), *looked.left]

    return found
