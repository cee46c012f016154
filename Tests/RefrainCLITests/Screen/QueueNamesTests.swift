// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainCLI
@testable import RefrainPlayer

/// The names of items in the list: of their playlist, or their own once they have played.
struct QueueNamesTests {
  private let own = KnownItem(title: "Refrain", artist: "Björk", album: "桜の歌")

  /// Returns a model in which the second item has played.
  private func model(_ media: [Media]) -> ScreenModel {
    var state = PlayerState()
    state.queue.replace(with: media)
    var model = ScreenModel()
    model.show(state, known: [state.queue.items[1].id: own])
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

  @Test func `A row shows its own names where no playlist states any`() throws {
    let row = model(try media()).queue.rows[1]
    #expect(row.title == "Refrain" && row.artist == "Björk" && row.album == "桜の歌")
    let named = model(try media("Of the list")).queue.rows[1]
    #expect(named.title == "Of the list" && named.artist == "Björk")
  }

  @Test func `A row that has played keeps what its list states, and is found by its own names`()
    throws
  {
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
  func `The filter finds an item by its own names and by its file`(_ filter: String) throws {
    #expect(found(filter, in: model(try media())) == [2])
  }

  @Test func `The filter finds an item by names that its row does not show`() throws {
    let model = model(try media("Of the list", artist: "Somebody"))
    #expect(found("refrain björk", in: model) == [2])
    #expect(found("of the list", in: model) == [1, 2, 3])
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
}
