"""Which layouts there are."""

import pytest

from streams.cli.data.importing import Layout
from streams.importers import DataSetError, Format, detect, load


def test_the_command_line_offers_every_layout():
    assert {layout.value for layout in Layout} == {"auto", *Format}


def test_a_folder_of_none_is_told_which_files_make_one(tmp_path):
    with pytest.raises(DataSetError, match=r"movies\.csv.*goodreads_books.*yelp_academic.*combined_.*meta_"):
        detect(tmp_path)


@pytest.mark.parametrize("layout", Format)
def test_a_folder_that_lacks_the_named_layouts_files_is_told(tmp_path, layout):
    with pytest.raises(DataSetError, match="has no "):
        load(tmp_path, format=layout)
