// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainCLI

struct ScreenActionTests {
  @Test(
    arguments: [
      (" ", .toggle), ("n", .next), ("p", .previous), ("\u{1B}[D", .seek(-5)),
      ("\u{1B}[C", .seek(5)),
      ("\u{1B}[1;2D", .seek(-60)), ("\u{1B}[1;5C", .seek(60)), ("0", .jump(0)), ("9", .jump(9)),
      ("\u{1B}[H", .jump(0)), ("+", .changeVolume(0.05)), ("=", .changeVolume(0.05)),
      ("-", .changeVolume(-0.05)), ("m", .toggleMute), ("r", .cycleRepeat), ("S", .toggleShuffle),
      ("s", .cycleSubtitle), ("a", .cycleSound), ("v", .toggleVideo), ("f", .toggleFullscreen),
      ("[", .slower), ("]", .faster), ("\u{7F}", .resetRate), ("t", .cycleSleepTimer),
      ("\u{1B}[A", .select(-1)), ("\u{1B}[B", .select(1)), ("\u{1B}[5~", .selectPage(-1)),
      ("\u{1B}[6~", .selectPage(1)), ("g", .selectFirst), ("G", .selectLast), ("\r", .playSelected),
      ("x", .removeSelected), ("\u{1B}[3~", .removeSelected), ("J", .moveSelected(1)),
      ("K", .moveSelected(-1)), ("/", .beginFilter), ("A", .beginAddition), ("?", .showHelp),
      ("q", .quit),
      ("\u{3}", .quit),
      ("\u{1C}", .quit), ("\u{1A}", .suspend), ("\u{C}", .redraw),
    ] as [(String, ScreenAction)])
  func `Every bound key triggers its action`(_ bytes: String, _ action: ScreenAction) {
    #expect(actions(bytes) == [action])
  }

  @Test(arguments: [
    "z", "\u{1B}", "\u{1B}x", "\u{1}", "\u{1B}[24~", "\u{1B}[200~q\u{1B}[201~", "é",
  ])
  func `Other keys do nothing`(_ bytes: String) {
    #expect(actions(bytes) == [])
  }

  @Test(
    arguments: [
      ("q", .type("q")), (" ", .type(" ")), ("5", .type("5")), ("桜", .type("桜")), ("/", .type("/")),
      ("\u{7F}", .untype), ("\u{1B}", .endFilter), ("\r", .playSelected), ("\u{15}", .clearFilter),
      ("\u{1B}[A", .select(-1)), ("\u{1B}[6~", .selectPage(1)), ("\u{3}", .quit),
      ("\u{1A}", .suspend), ("\u{1B}[200~some text\u{1B}[201~", .type("some text")),
    ] as [(String, ScreenAction)])
  func `Keys edit the filter while it is open`(_ bytes: String, _ action: ScreenAction) {
    #expect(actions(bytes, isFiltering: true) == [action])
  }

  @Test func `Any key closes the help`() {
    #expect(actions(" ", isHelpVisible: true) == [.hideHelp])
    #expect(actions("\u{1B}", isHelpVisible: true) == [.hideHelp])
    #expect(actions("\u{3}", isHelpVisible: true) == [.quit])
  }

  private func actions(
    _ bytes: String, isFiltering: Bool = false, isHelpVisible: Bool = false
  ) -> [ScreenAction] {
    var parser = KeyParser()
    return (parser.feed(Array(bytes.utf8)) + parser.flush()).compactMap {
      ScreenAction($0, isFiltering: isFiltering, isHelpVisible: isHelpVisible)
    }
  }
}

struct QueueListTests {
  private var list: QueueList {
    var list = QueueList()
    list.rows = ["Älter", "Byte by Byte", "Coalesce", "Byte of the Apple"].enumerated().map {
      QueueList.Row(id: UInt64($0), number: $0 + 1, title: $1, artist: "Band", isCurrent: $0 == 1)
    }
    return list
  }

  @Test func `The selection follows the current row until it is moved`() {
    var list = list
    #expect(list.selection?.id == 1)
    list.rows[1].isCurrent = false
    list.rows[2].isCurrent = true
    #expect(list.selection?.id == 2)
    list.select(by: 1)
    list.rows[2].isCurrent = false
    #expect(list.selection?.id == 3)
    list.deselect()
    #expect(list.selection == nil)
  }

  @Test func `The selection stops at the ends`() {
    var list = list
    list.select(by: -10)
    #expect(list.selection?.id == 0)
    list.select(by: 100)
    #expect(list.selection?.id == 3)
    list.selectFirst()
    #expect(list.selection?.id == 0)
    list.selectLast()
    #expect(list.selection?.id == 3)
  }

  @Test func `The filter matches every word regardless of case and accents`() {
    var list = list
    list.beginFilter()
    #expect(list.matches.count == 4)
    list.type("BYTE")
    #expect(list.matches.map(\.id) == [1, 3])
    list.type(" apple")
    #expect(list.matches.map(\.id) == [3])
    #expect(list.selection?.id == 3)
    list.clearFilter()
    list.type("alter band")
    #expect(list.matches.map(\.id) == [0])
    list.type("x")
    #expect(list.matches.isEmpty && list.selection == nil)
    list.select(by: 1)
    list.untype()
    #expect(list.matches.map(\.id) == [0])
    list.endFilter()
    #expect(list.filter == nil && list.matches.count == 4)
  }

  @Test(.timeLimit(.minutes(1)))
  func `A step in a long list with a filter looks at each row once`() {
    var list = QueueList()
    list.rows = (0..<10_000).map { QueueList.Row(id: $0, number: Int($0) + 1, title: "Song \($0)") }
    list.beginFilter()
    list.type("song")
    list.selectLast()
    list.select(by: -1)
    #expect(list.selection?.id == 9998)
    #expect(list.focus(in: list.rows.map(\.id).reversed()) == 1)
  }

  @Test func `Deleting in an empty filter closes it`() {
    var list = list
    list.beginFilter()
    list.type("a")
    list.untype()
    #expect(list.filter?.isEmpty == true)
    list.untype()
    #expect(list.filter == nil)
    list.type("q")
    #expect(list.filter == nil)
  }

  @Test func `The selection moves on when its row is removed`() {
    var list = list
    list.select(by: 1)
    #expect(list.selection?.id == 2)
    list.rows.remove(at: 2)
    #expect(list.selection?.id == 3)
    list.rows.removeLast()
    #expect(list.selection?.id == 1)
    list.rows = []
    #expect(list.selection == nil)
  }
}
