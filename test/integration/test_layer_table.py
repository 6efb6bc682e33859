"""docs/layers.md says what the tests check, no more and no less, and names what the library has."""

import re

import harness
import layer_table

ROWS = layer_table.FIRST + layer_table.SECOND


def comment_of(function):
    """The doc comment of a function of the standard library, None if there is no such function."""
    module, name = function.split(".")
    found = re.search(rf"((?:^///.*\n)+)(?=fn {name}[\[(])", (layer_table.LIBRARY / f"{module}.gnn").read_text(), re.M)
    return found.group(1) if found else None


class LayerTable(harness.TestCase):
    def test_the_page_is_up_to_date(self):
        self.assertEqual(layer_table.PAGE.read_text(), layer_table.page(), "run test/integration/layer_table.py")

    def test_functions_and_sources(self):
        for layer, source, functions in ROWS:
            comments = [comment_of(function) for function in functions]
            self.assertNotIn(None, comments, layer)
            if source:  # adding up all nodes has none
                author, year = re.match(r"[\w-]+", source).group(0), source.split()[-1]
                self.assertIn(author, "".join(comments), layer)
                self.assertIn(year, "".join(comments), layer)

    def test_every_row_has_values(self):
        for layer, _, functions in ROWS:
            for function in functions:
                self.assertTrue(layer_table.callers(function) & layer_table.CHECKED, f"{layer}: nothing checks {function}")

    def test_every_reference_is_in_the_table(self):
        named = set(re.findall(r"\w+", layer_table.page()))
        self.assertEqual([case for case in layer_table.test_golden.CASES if case not in named], [])

    def test_every_layer_of_the_list_has_a_row(self):
        list_of_layers = harness.Settings.golden.parent / "LAYERS.md"
        if not list_of_layers.is_file():
            self.skipTest(f"no list of layers at {list_of_layers}")
        first = re.findall(r"^\| ([A-Z][\w, ]+?) \|", list_of_layers.read_text().split("## Second tier")[0], re.M)
        listed = [name.strip() for cell in first for name in cell.split(",")]
        self.assertLessEqual(set(listed), {layer for layer, _, _ in layer_table.FIRST})
