module github.com/hindsightrl/harness

go 1.26
