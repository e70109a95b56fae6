import re


def test_the_result_is_printed(run):
    code, printed, _ = run("demo")
    assert code == 0
    assert int(re.search(r"smallest group +(\d+)", printed)[1]) >= 5
    assert int(re.search(r"anonymity level +(\d+)", printed)[1]) >= 5
    assert 442 // 9 <= int(re.search(r"groups +(\d+)", printed)[1]) <= 442 // 5
    assert re.search(r"information loss +\d+\.\d%", printed)
    assert re.search(r"seconds +\d+\.\d+", printed)
    before, after = printed.split("First rows before")[1].split("First rows after")
    assert len(before.split()) == len(after.split()) == 7 * 10
