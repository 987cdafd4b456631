"""Prints "passed failed skipped" of the JUnit report that ctest wrote; fails when no test ran."""
import sys
import xml.etree.ElementTree as ElementTree

suite = ElementTree.parse(sys.argv[1]).getroot()
total, failed = int(suite.get("tests")), int(suite.get("failures"))
skipped = int(suite.get("skipped", 0)) + int(suite.get("disabled", 0))
if total == 0:
    sys.exit("no test ran")
print(total - failed - skipped, failed, skipped)
