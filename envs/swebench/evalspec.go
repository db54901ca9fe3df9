package swebench

import (
	"fmt"
	"slices"
	"strings"
)

// evalSpec is how a repository's versions are installed and tested: what release 4 kept in tables and
// release 5 writes into each row's script. Source: 4.1.0 swebench/harness/constants/python.py.
type evalSpec struct {
	versions string // separated by blanks
	setup    []string
	install  string
	test     string
}

const (
	testPytest        = "pytest -rA"
	testAstropyOld    = "pytest -rA -vv -o console_output_style=classic --tb=no"
	testSeaborn       = "pytest --no-header -rA"
	testDjango        = "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1"
	testDjangoPlain   = "./tests/runtests.py --verbosity 2"
	testSphinx        = "tox --current-env -epy39 -v --"
	testSympy         = "PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning' bin/test -C --verbose"
	installEditable   = "python -m pip install -e ."
	installSetup      = "python setup.py install"
	installTest       = "python -m pip install -e .[test]"
	installMatplotlib = `python -m pip install --no-build-isolation -e ".[dev]"`
)

var (
	djangoLocale = []string{
		"export LANG=en_US.UTF-8", "export LC_ALL=en_US.UTF-8", "export PYTHONIOENCODING=utf8", "export LANGUAGE=en_US:en",
	}
	djangoLocaleGen = []string{
		"sed -i '/en_US.UTF-8/s/^# //g' /etc/locale.gen && locale-gen",
		"export LANG=en_US.UTF-8", "export LANGUAGE=en_US:en", "export LC_ALL=en_US.UTF-8",
	}
)

var evalSpecs = map[string][]evalSpec{
	"astropy/astropy": {
		{"3.0 3.1 3.2 4.1 4.2 4.3 5.0 5.1 5.2 v5.3", nil, installTest + " --verbose", testPytest},
		{"0.1 0.2 0.3 0.4 1.1 1.2 1.3", nil, installTest + " --verbose", testAstropyOld},
	},
	"django/django": {
		{"1.4 1.5 1.6", nil, installSetup, testDjango},
		{"1.7 1.8 1.10 1.11 2.0 2.1 2.2", djangoLocale, installSetup, testDjango},
		{"1.9", djangoLocale, installSetup, testDjangoPlain},
		{"3.0 3.1 3.2", djangoLocaleGen, installEditable, testDjango},
		{"4.0 4.1 4.2 5.0 5.1 5.2", nil, installEditable, testDjango},
	},
	"matplotlib/matplotlib": {
		{"3.0 3.1 3.2 3.3 3.4 3.5 3.6 3.7", nil, installEditable, testPytest},
		{"3.8 3.9", nil, installMatplotlib, testPytest},
		{"1.0 1.1 1.2 1.3 1.4 1.5 2.0 2.1 2.2", nil, "python setup.py build; " + installSetup, testPytest},
	},
	"marshmallow-code/marshmallow": {
		{"2.18 2.19 2.20 3.0 3.1 3.2 3.4 3.8 3.9 3.10 3.11 3.12 3.13 3.15 3.16 3.19", nil, "python -m pip install -e '.[dev]'", testPytest},
	},
	"mwaskom/seaborn": {
		{"0.11", nil, installEditable, testSeaborn},
		{"0.12 0.13 0.14", nil, "python -m pip install -e .[dev]", testSeaborn},
	},
	"pallets/flask": {{"2.0 2.1 2.2 2.3 3.0 3.1", nil, installEditable, testPytest}},
	"psf/requests": {{
		"0.7 0.8 0.9 0.11 0.13 0.14 1.1 1.2 2.0 2.2 2.3 2.4 2.5 2.7 2.8 2.9 2.10 2.11 2.12 2.17 2.18 2.19 2.22 2.25 2.26 2.27 2.31 3.0",
		nil, "python -m pip install .", testPytest,
	}},
	"pvlib/pvlib-python": {{"0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9", nil, "python -m pip install -e .[all]", testPytest}},
	"pydata/xarray":      {{"0.12 0.18 0.19 0.20 2022.03 2022.06 2022.09 2023.07 2024.05", nil, installEditable, testPytest}},
	"pydicom/pydicom":    {{"1.0 1.1 1.2 1.3 1.4 2.0 2.1 2.2 2.3 2.4 3.0", nil, installEditable, testPytest}},
	"pylint-dev/astroid": {{"2.5 2.6 2.7 2.8 2.9 2.10 2.12 2.13 2.14 2.15 2.16 3.0", nil, installEditable, testPytest}},
	"pylint-dev/pylint":  {{"2.8 2.9 2.10 2.11 2.13 2.14 2.15 2.16 2.17 3.0 3.1 3.2 3.3 4.0", nil, installEditable, testPytest}},
	"pytest-dev/pytest": {{
		"4.4 4.5 4.6 5.0 5.1 5.2 5.3 5.4 6.0 6.2 6.3 7.0 7.1 7.2 7.4 8.0 8.1 8.2 8.3 8.4", nil, installEditable, testPytest,
	}},
	"pyvista/pyvista": {{
		"0.20 0.21 0.22 0.23 0.24 0.25 0.26 0.27 0.28 0.29 0.30 0.31 0.32 0.33 0.34 0.35 0.36 0.37 0.38 0.39 0.40 0.41 0.42 0.43",
		nil, installEditable, testPytest,
	}},
	"scikit-learn/scikit-learn": {{
		"0.20 0.21 0.22 1.3 1.4 1.5 1.6", nil, "python -m pip install -v --no-use-pep517 --no-build-isolation -e .", testPytest,
	}},
	"sphinx-doc/sphinx": {{
		"1.5 1.6 1.7 1.8 2.0 2.1 2.2 2.3 2.4 3.0 3.1 3.2 3.3 3.4 3.5 4.0 4.1 4.2 4.3 4.4 4.5 5.0 5.1 5.2 5.3 6.0 6.2 7.0 7.1 7.2 7.3 7.4 8.0 8.1",
		nil, installTest, testSphinx,
	}},
	"sqlfluff/sqlfluff": {{"0.4 0.5 0.6 0.8 0.9 0.10 0.11 0.12 0.13 1.0 1.1 1.2 1.3 1.4 2.0 2.1 2.2", nil, installEditable, testPytest}},
	"sympy/sympy":       {{"0.7 1.0 1.1 1.2 1.4 1.5 1.6 1.7 1.8 1.9 1.10 1.11 1.12 1.13 1.14", nil, installEditable, testSympy}},
}

// findEvalSpec looks a version up. The error says which of repository and version is not known.
func findEvalSpec(repo, version string) (evalSpec, error) {
	specs, ok := evalSpecs[repo]
	if !ok {
		return evalSpec{}, fmt.Errorf("repository %s is not one of the Python sets", repo)
	}
	for _, s := range specs {
		if slices.Contains(strings.Fields(s.versions), version) {
			return s, nil
		}
	}
	return evalSpec{}, fmt.Errorf("%s has no known install commands for version %q", repo, version)
}
