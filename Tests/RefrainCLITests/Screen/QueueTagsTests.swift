// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainCLI
@testable import RefrainPlayer

/// The tags of items that have not played yet, in the list and in events for programs.
struct QueueTagsTests {
  private let tags = MediaMetadata(title: "Refrain", artist: "Björk", album: "桜の歌")

  private func model(
    _ media: [Media], _ known: [PlayQueue.Item.ID: KnownItem] = [:]
  ) -> ScreenModel {
    var state = PlayerState()
    state.queue.replace(with: media)
    state.itemTags[state.queue.items[1].id] = tags
    var model = ScreenModel()
    model.show(state, known: known)
    return model
  }

  private func media(_ title: String? = nil, artist: String? = nil) throws -> [Media] {
    try ["a", "b", "c"].map {
      Media(try #require(URL(string: "https://h/\($0).mp3")), title: title, artist: artist)
    }
  }

  private func found(_ filter: String, in model: ScreenModel) -> [Int] {
    var queue = model.queue
    queue.beginFilter()
    queue.type(filter)
    return queue.matches.map(\.number)
  }

  @Test func `A row shows tags where no playlist states anything`() throws {
    let row = model(try media()).queue.rows[1]
    #expect(row.title == "Refrain" && row.artist == "Björk" && row.album == "桜の歌")
    let named = model(try media("Of the list")).queue.rows[1]
    #expect(named.title == "Of the list" && named.artist == "Björk")
  }

  @Test func `A row that has played keeps what its list states, and is found by its tags`() throws {
    var state = PlayerState()
    state.queue.replace(with: try media("Of the list", artist: "Somebody"), startingAt: 0)
    let known = KnownItem(title: "The whole album", artist: "Various", album: "Collected")
    var model = ScreenModel()
    model.show(state, known: [state.queue.items[1].id: known])
    let row = model.queue.rows[1]
    #expect(row.title == "Of the list" && row.artist == "Somebody" && row.album == "Collected")
    #expect(found("whole various", in: model) == [2])
  }

  @Test(arguments: ["bjork", "REFRAIN", "桜", "björk 桜の", "b.mp3"])
  func `The filter finds an item by its tags and by its name`(_ filter: String) throws {
    #expect(found(filter, in: model(try media())) == [2])
  }

  @Test func `The filter finds an item by tags that its row does not show`() throws {
    let model = model(try media("Of the list", artist: "Somebody"))
    #expect(found("refrain björk", in: model) == [2])
    #expect(found("of the list", in: model) == [1, 2, 3])
  }

  @Test func `Without tags, a word matches nothing else`() throws {
    #expect(found("nobody", in: model(try media())) == [])
    #expect(found("a.mp3", in: model(try media())) == [1])
  }

  @Test func `The header shows tags until the item has its own`() throws {
    var state = PlayerState()
    state.queue.replace(with: try media(), startingAt: 1)
    state.itemTags[state.queue.items[1].id] = tags
    var model = ScreenModel()
    model.show(state)
    #expect(model.title == "Refrain" && model.details == ["Björk", "桜の歌"])
    state.metadata.title = "Own"
    model.show(state)
    #expect(model.title == "Own")
  }

  @Test(arguments: [20, 30, 40, 50, 60, 80, 120])
  func `A row names the artist in any width, and never exceeds it`(_ width: Int) throws {
    var model = model(try media())
    model.queue.rows[1].artist = "東京フィルハーモニー"
    let lines = ScreenRenderer(.blocks).queueLines(model.queue, width, 6)
    #expect(lines.allSatisfy { $0.text.displayWidth <= width })
    #expect(lines[2].text.contains("東京"))
    let narrow = width - 5 - 1 - 1 < 50
    #expect(lines[2].text.contains("東京フィルハーモニー – R") == (narrow && width >= 40))
  }

  @Test func `An artist whom the title names is not repeated`() throws {
    var model = model(try media())
    model.queue.rows[1].title = "BJÖRK - Refrain"
    let line = ScreenRenderer(.blocks).queueLines(model.queue, 40, 6)[2].text
    #expect(line.contains("BJÖRK - Refrain") && !line.contains("–"))
  }

  @Test func `Pure ASCII has no dash of its own`() throws {
    var model = model(try media())
    model.queue.rows[1].artist = "Artist"
    let line = ScreenRenderer(.ascii).queueLines(model.queue, 40, 6)[2].text
    #expect(line.contains("Artist - Refrain"))
  }

  @Test func `A program receives the tags with the URL of their item`() throws {
    var queue = PlayQueue()
    queue.replace(with: try media())
    let event = try #require(PlayEvent(.tags(queue.items[1], tags), about: queue.items[0].media))
    let line = try #require(
      try JSONSerialization.jsonObject(with: JSONEncoder().encode(event)) as? [String: Any])
    #expect(line["event"] as? String == "tags" && line["url"] as? String == "https://h/b.mp3")
    #expect(
      line["metadata"] as? [String: String]
        == ["title": "Refrain", "artist": "Björk", "album": "桜の歌"])
  }
}
