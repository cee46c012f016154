// SPDX-License-Identifier: MIT
import RefrainPlayer

@testable import RefrainCLI

/// Screens from actual use.
enum ScreenSamples {
  static let all: [(name: String, model: ScreenModel)] = [
    ("cold", cold), ("half-cached", halfCached), ("warm", warm), ("buffering", buffering),
    ("no-network", noNetwork), ("failed", failed), ("long-titles", longTitles),
    ("wide-characters", wideCharacters), ("filter", filter), ("adding", adding), ("live", live),
    ("help", help),
  ]

  static let cold: ScreenModel = {
    var model = song
    model.status = .playing
    model.position = .seconds(2)
    model.map = CacheMap(cached: [0..<0.05], fetching: [0.05..<0.12])
    model.storedBytes = 1 << 20
    model.speed = 4.1 * 1_048_576
    model.hitRatio = 0
    model.requests = 3
    return model
  }()

  static let halfCached: ScreenModel = {
    var model = song
    model.status = .paused
    model.position = .seconds(67)
    model.map = CacheMap(cached: [0..<0.4, 0.7..<0.8], fetching: [0.4..<0.46])
    model.storedBytes = 12 << 20
    model.speed = 512_000
    model.hitRatio = 0.384
    model.requests = 9
    model.volume = 0.8
    model.repeatMode = .all
    model.isShuffled = true
    model.rate = 1.25
    model.sleepTimer = .left(.seconds(1750))
    return model
  }()

  static let warm: ScreenModel = {
    var model = song
    model.status = .playing
    model.position = .seconds(126)
    model.map = CacheMap(cached: [0..<1])
    model.storedBytes = model.totalBytes
    model.hitRatio = 1
    return model
  }()

  static let buffering: ScreenModel = {
    var model = cold
    model.status = .buffering(.bytes)
    model.position = .seconds(12)
    model.speed = 0
    model.isMuted = true
    return model
  }()

  static let noNetwork: ScreenModel = {
    var model = buffering
    model.status = .buffering(
      .network("https://media.example.org could not be reached: the connection was refused."))
    model.speed = nil
    return model
  }()

  static let failed: ScreenModel = {
    var model = song
    model.status = .failed(
      reason: "The origin answered 404 for https://media.example.org/a-long-way.flac: not found.",
      remedy: "Check the URL; what was stored of it before can still be played with --offline.")
    model.queue.rows[0].hasFailed = true
    model.messages = [
      .init(text: "No sound device was found: playing in real time, without sound."),
      .init(text: "The disk is almost full: nothing more is stored.", level: .warning),
      .init(text: "a-long-way.flac: the origin answered 404.", level: .error),
    ]
    return model
  }()

  static let longTitles: ScreenModel = {
    var model = cold
    let long =
      "Concerning the Great and Most Memorable Refrain of the People Who Never Downloaded "
      + "the Same Byte Twice, in Four Movements, with an Epilogue"
    model.title = long
    model.details = [long, long]
    model.address =
      "https://media.example.org/\(String(repeating: "deep/", count: 30))movement.flac"
    for index in model.queue.rows.indices {
      model.queue.rows[index].title = "\(index + 1). \(long)"
      model.queue.rows[index].artist = long
    }
    return model
  }()

  static let wideCharacters: ScreenModel = {
    var model = halfCached
    model.title = "さくら 桜の歌 \u{1F338}"
    model.details = ["東京フィルハーモニー", "日本の歌"]
    let titles = [
      "さくら 桜の歌 \u{1F338}", "아리랑", "ｆｕｌｌｗｉｄｔｈ", "Cafe\u{301} Zoë",
      "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467} family",
      "\u{1F1EF}\u{1F1F5} flag", "\u{2764}\u{FE0F} heart", "zero\u{200B}width", "นํ้า",
      "a\u{1B}[31mb\u{7}",
      "Привет", "سلام",
    ]
    for (index, title) in titles.enumerated() { model.queue.rows[index].title = title }
    return model
  }()

  static let filter: ScreenModel = {
    var model = warm
    model.queue.beginFilter()
    model.queue.type("byte")
    model.queue.select(by: 1)
    return model
  }()

  static let adding: ScreenModel = {
    var model = warm
    model.typedLine = TypedLine(.addition)
    model.typedLine?.type("~/Music/Every Byte Once")
    return model
  }()

  static let live: ScreenModel = {
    var model = ScreenModel()
    model.status = .playing
    model.title = "Artist - The Song That Is On"
    model.details = ["Radio Refrain"]
    model.address = "https://radio.example.org/stream"
    model.position = .seconds(3723)
    model.length = .live
    model.storedBytes = 0
    model.speed = 16_000
    model.requests = 1
    model.queue.rows = [
      .init(id: 1, number: 1, title: "Radio Refrain", isCurrent: true)
    ]
    return model
  }()

  static let help: ScreenModel = {
    var model = warm
    model.isHelpVisible = true
    return model
  }()

  private static let song: ScreenModel = {
    var model = ScreenModel()
    model.title = "A Long Way to the Refrain"
    model.details = ["The Held Back", "Every Byte Once"]
    model.address = "https://media.example.org/a-long-way.flac"
    model.length = .known(.seconds(252))
    model.totalBytes = 24_746_394
    model.storedBytes = 0
    let titles = [
      "A Long Way to the Refrain", "Byte by Byte", "Coalesce", "Half Open", "The Origin",
      "Strong Validator", "Sparse", "Hole in the Middle", "Byte of the Apple", "Read Ahead",
      "Eviction", "Not Modified",
    ]
    model.queue.rows = titles.enumerated().map { index, title in
      QueueList.Row(
        id: UInt64(index + 1), number: index + 1, title: title, artist: "The Held Back",
        duration: .seconds(252 - index * 7), isCurrent: index == 0,
        cached: [0.49, 1, 1, 0.12][safe: index] ?? 0)
    }
    return model
  }()
}

extension Array {
  fileprivate subscript(safe index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
