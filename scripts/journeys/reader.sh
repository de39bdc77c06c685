# The reader of a paper, with the installed package and an empty folder: is that number right?
set -eu
omtl list tables | grep dom-table1
omtl table dom-table1 --cell "DOM-I (Ring) on Synthetic" --repeats 2
omtl explain dom-table1 "DOM-I (Ring) on Synthetic" > why.txt
head -3 why.txt | grep verdict
omtl table dom-table1 --cell "DOM-I (Ring) on Synthetic" --repeats 2 --reading as_written
omtl audit proofread
omtl audit claims | grep holds
omtl export dom-table1 --to paper
grep toprule paper/*.tex
omtl report
grep rom-table1 site/index.html > /dev/null
