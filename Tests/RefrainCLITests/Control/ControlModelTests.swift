// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// A plain model of what clients control: no items, only names and numbers.
  private struct ControlModel {
    /// An entry, which the same file may have several times.
    struct Entry: Equatable {
      var name: String
      var number: Int
    }

    var entries: [Entry]
    var current: Entry?
    var isOccupied = true
    var isPaused = false
    var position = 0.0
    var volume = 100.0
    var isMuted = false
    var speed = 1.0
    /// "no", "playlist" or "file".
    var loop = "no"
    private var last = 0

    init(_ names: [String]) {
      entries = names.enumerated().map { Entry(name: $1, number: -1 - $0) }
      current = entries.first
    }

    var index: Int? { entries.firstIndex { $0 == current } }

    private mutating func entry(_ name: String) -> Entry {
      last += 1
      return Entry(name: name, number: last)
    }

    private mutating func play(_ entry: Entry?, isPaused: Bool) {
      (current, isOccupied, self.isPaused, position) = (entry, true, isPaused, 0)
    }

    private mutating func rest() { (isOccupied, isPaused, position) = (false, true, 0) }

    mutating func load(_ name: String, _ place: String) {
      let new = entry(name)
      let wasIdle = !isOccupied
      switch place {
      case "replace":
        entries = [new]
        play(new, isPaused: false)
      case "insert-next", "insert-next-play":
        entries.insert(new, at: index.map { $0 + 1 } ?? entries.count)
      default: entries.append(new)
      }
      current = current ?? new
      if place.hasSuffix("-play"), wasIdle { play(new, isPaused: false) }
    }

    /// Returns whether the command is possible.
    mutating func next() -> Bool {
      guard let next = following else { return false }
      play(next, isPaused: isOccupied && isPaused)
      return true
    }

    private var following: Entry? {
      let place = (index ?? entries.count) + 1
      if place < entries.count { return entries[place] }
      return loop == "playlist" ? entries.first : nil
    }

    mutating func previous() -> Bool {
      let place = (index ?? entries.count) - 1
      guard place >= 0 || loop == "playlist", !entries.isEmpty else { return false }
      // Without a current item, the player does nothing.
      guard current != nil else { return true }
      play(place >= 0 ? entries[place] : entries.last, isPaused: isOccupied && isPaused)
      return true
    }

    mutating func jump(_ index: Int) -> Bool {
      guard entries.indices.contains(index) else { return false }
      play(entries[index], isPaused: false)
      return true
    }

    mutating func remove(_ index: Int) -> Bool {
      guard entries.indices.contains(index) else { return false }
      guard entries[index] == current else {
        entries.remove(at: index)
        return true
      }
      let next = following == current ? nil : following
      entries.remove(at: index)
      current = next
      if isOccupied, next != nil { position = 0 } else { rest() }
      return true
    }

    mutating func move(_ source: Int, to target: Int) -> Bool {
      guard entries.indices.contains(source), target >= 0 else { return false }
      let entry = entries.remove(at: source)
      entries.insert(entry, at: min(target > source ? target - 1 : target, entries.count))
      return true
    }

    mutating func clear() {
      entries = current.map { [$0] } ?? []
    }

    mutating func stop(keepsQueue: Bool) {
      rest()
      if !keepsQueue { (entries, current) = ([], nil) }
    }

    mutating func pause(_ isWanted: Bool) {
      if isWanted {
        isPaused = true
      } else if isOccupied {
        isPaused = false
      } else if let entry = current ?? entries.first {
        // A stopped item goes on where it was sought to; here, nowhere.
        play(entry, isPaused: false)
      }
    }

    mutating func seek(_ target: Double, _ kind: String) -> Bool {
      guard isOccupied else { return false }
      let start = kind == "relative" ? position : target < 0 && kind == "absolute" ? 10 : 0
      let distance = kind == "absolute-percent" ? target / 10 : target
      let wanted = max(0, kind == "relative" ? min(10, start + distance) : start + distance)
      // The program counts exactly: 5.8 - 4 is 1.8.
      position = (wanted * 1e6).rounded() / 1e6
      return true
    }
  }

  /// Random commands of several clients, compared with a model.
  @MainActor
  @Suite(.timeLimit(.minutes(TestSeed.minutes(2))))
  struct ControlModelTests {
    private static let names = ["a", "b", "c", "d", "e"]

    @Test func `Five hundred commands lead to what the model expects`() async throws {
      let seed = TestSeed.next()
      print("Control commands: REFRAIN_SEED=\(seed)")
      var random = SeededGenerator(seed: seed)
      try await ControlledPlayer.with(["a", "b", "c"]) { controlled in
        let clients = try (0..<3).map { _ in try controlled.connect() }
        var model = ControlModel(["a", "b", "c"])
        for name in Self.names { _ = try controlled.file(name) }
        for step in 0..<(TestSeed.isSoak ? 20_000 : 500) {
          let client = clients[Int.random(in: 0..<3, using: &random)]
          let (words, isPossible) = command(&model, controlled.directory, &random)
          let reply = try await client.ask(words)
          let place = "step \(step), \(words), REFRAIN_SEED=\(seed)"
          #expect((reply.error == "success") == isPossible, "\(reply), \(place)")
          let found = try await properties(clients[step % 3])
          #expect(found == expected(model), "\(place)")
          guard found == expected(model) else { return }
        }
      }
    }

    private static let properties = [
      "playlist-pos", "playlist-count", "pause", "idle-active", "volume", "mute", "speed",
      "loop-playlist", "loop-file", "time-pos", "media-title",
    ]

    private func properties(_ client: ControlConnection) async throws -> [String] {
      var values: [String] = []
      for property in Self.properties {
        let value = try await client.get(property)
        values.append("\(property) \(value?.finite.map { "\($0)" } ?? value?.json ?? "-")")
      }
      guard case .array(let items) = try await client.get("playlist") else { return values }
      return values
        + items.map { item in
          guard case .object(let members) = item else { return "-" }
          let name = members["filename"]?.text.map { URL(filePath: $0).lastPathComponent } ?? "-"
          return name + (members["current"] == .bool(true) ? " current" : "")
        }
    }

    private func expected(_ model: ControlModel) -> [String] {
      let values: [String] = [
        "\(Double(model.index ?? -1))", "\(Double(model.entries.count))", "\(model.isPaused)",
        "\(!model.isOccupied)", "\(model.volume)", "\(model.isMuted)", "\(model.speed)",
        model.loop == "playlist" ? #""inf""# : "false", model.loop == "file" ? #""inf""# : "false",
        model.isOccupied ? "\(model.position)" : "-",
        model.current.map { "\"\($0.name).ogg\"" } ?? "-",
      ]
      return zip(Self.properties, values).map { "\($0) \($1)" }
        + model.entries.map { "\($0.name).ogg" + ($0 == model.current ? " current" : "") }
    }

    /// Returns a random command, which the model has performed, and whether it is possible.
    private func command(
      _ model: inout ControlModel, _ directory: URL, _ random: inout SeededGenerator
    ) -> (words: String, isPossible: Bool) {
      let count = model.entries.count
      let index = Int.random(in: -1...(count + 1), using: &random)
      let isOn = Bool.random(using: &random)
      switch Int.random(in: 0..<24, using: &random) {
      case 0, 1, 2, 3, 4:
        let name = Self.names.randomElement(using: &random) ?? "a"
        let places = ["append", "append", "append-play", "insert-next", "insert-next-play"]
        // Rarely, so that there are lists.
        let place =
          Int.random(in: 0..<12, using: &random) == 0
          ? "replace" : places.randomElement(using: &random) ?? "append"
        let path = directory.appending(path: "\(name).ogg").path(percentEncoded: false)
        model.load(name, place)
        return (#""loadfile","\#(path)","\#(place)""#, true)
      case 5, 6: return (#""playlist-next""#, model.next())
      case 7, 8: return (#""playlist-prev","weak""#, model.previous())
      case 9, 10: return (#""playlist-play-index",\#(index)"#, model.jump(index))
      case 11: return (#""set_property","playlist-pos",\#(index)"#, model.jump(index))
      case 12, 13: return (#""playlist-remove",\#(index)"#, model.remove(index))
      case 14, 15:
        let target = Int.random(in: -1...(count + 1), using: &random)
        return (#""playlist-move",\#(index),\#(target)"#, model.move(index, to: target))
      case 16:
        guard Int.random(in: 0..<4, using: &random) == 0 else { fallthrough }
        model.clear()
        return (#""playlist-clear""#, true)
      case 17:
        model.pause(isOn)
        return (#""set_property","pause",\#(isOn)"#, true)
      case 18:
        model.pause(!model.isPaused)
        return (#""cycle","pause""#, true)
      case 19:
        if isOn {
          model.isMuted.toggle()
          return (#""cycle","mute""#, true)
        }
        model.volume = Double(Int.random(in: 0...100, using: &random))
        return (#""set_property","volume",\#(Int(model.volume))"#, true)
      case 20:
        let mode = ["playlist", "file"].randomElement(using: &random) ?? "file"
        if isOn { model.loop = mode } else if model.loop == mode { model.loop = "no" }
        return (#""set_property","loop-\#(mode)",\#(isOn ? #""inf""# : "false")"#, true)
      case 21:
        model.speed = Double(Int.random(in: 1...16, using: &random)) / 4
        return (#""set_property","speed",\#(model.speed)"#, true)
      case 22:
        let kind = ["relative", "absolute", "absolute-percent"].randomElement(using: &random)
        let target =
          kind == "absolute-percent"
          ? Int.random(in: 0...100, using: &random) : Int.random(in: -12...10, using: &random)
        let words = #""seek",\#(target),"\#(kind ?? "relative")""#
        return (words, model.seek(Double(target), kind ?? "relative"))
      default:
        let keepsQueue = Int.random(in: 0..<3, using: &random) > 0
        model.stop(keepsQueue: keepsQueue)
        return (keepsQueue ? #""stop","keep-playlist""# : #""stop""#, true)
      }
    }
  }
#endif
