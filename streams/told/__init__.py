"""What a model may be told of a whole skill: the lines, versions and reasons for which something vouches."""
