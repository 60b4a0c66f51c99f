"""Prompts as paths in one tree."""

from analyzers.prompt_tree import ROOT, Tree


def test_prompts_that_begin_alike_share_their_beginning() -> None:
    tree = Tree()
    one = tree.step(ROOT, b"a", None)
    two = tree.step(one, b"b", b"said")
    assert (tree.step(ROOT, b"a", None), tree.step(one, b"b", b"said")) == (one, two)
    other = tree.step(one, b"c", None)
    assert [list(tree.path(node)) for node in (two, other, ROOT)] == [[two, one], [other, one], []]
    assert [tree.depth[node] for node in (ROOT, one, two, other)] == [0, 1, 2, 2]
    assert [tree.answered[node] for node in (ROOT, one, two, other)] == [False, False, True, False]
    assert tree.answered[tree.step(two, b"d", None)]
