// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer

/// The stored positions.
@MainActor
@Suite(.timeLimit(.minutes(2)))
struct PlaybackPositionsTests {
  private let film = Media(URL(filePath: "/films/film.mkv"))

  private func url(_ text: String) throws -> Media { Media(try #require(URL(string: text))) }

  private func files(in directory: URL) throws -> [URL] {
    try FileManager.default.contentsOfDirectory(
      at: directory.appending(path: "cache/private"), includingPropertiesForKeys: nil)
  }

  @Test func `A position is found again, in files that only their owner can read`() async throws {
    try await withCache { cache, directory in
      let positions = await PlaybackPositions.open(for: cache)
      #expect(positions.mark(for: film) == nil)
      var mark = PlaybackMark.at(1234.5)
      mark.volume = 0.25
      mark.audio = .track(number: 2, language: "de")
      mark.subtitle = .off
      positions.keep(mark, for: film)
      #expect(positions.mark(for: film) == mark)
      await positions.flush()
      #expect(await PlaybackPositions.open(for: cache).mark(for: film) == mark)
      let files = try files(in: directory)
      #expect(files.count == 1)
      for file in files {
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path())
        #expect(attributes[.posixPermissions] as? Int == 0o600)
      }
      positions.forget(film)
      await positions.flush()
      #expect(positions.mark(for: film) == nil)
      #expect(try self.files(in: directory).isEmpty)
    }
  }

  @Test func `Another signature or an ignored parameter leads to the same position`() async throws {
    try await withCache { cache, _ in
      let positions = await PlaybackPositions.open(for: cache)
      let signed = "https://h/film.mp4?Expires=1&Signature=a&Key-Pair-Id=k"
      positions.keep(.at(60), for: try url(signed))
      let other = try url("https://h/film.mp4?Expires=2&Signature=b&Key-Pair-Id=k")
      #expect(positions.mark(for: other) == .at(60))
      #expect(positions.mark(for: try url("https://h/other.mp4?Expires=2&Signature=b")) == nil)
    }
    var configuration = MediaCache.Configuration()
    configuration.cacheKey = CacheKeyRule(ignoring: ["token"]).key(for:)
    try await withCache(configuration) { cache, _ in
      let positions = await PlaybackPositions.open(for: cache)
      positions.keep(.at(60), for: try url("https://h/film.mp4?id=1&token=a"))
      #expect(positions.mark(for: try url("https://h/film.mp4?id=1&token=b")) == .at(60))
      #expect(positions.mark(for: try url("https://h/film.mp4?id=2&token=a")) == nil)
    }
  }

  @Test func `Removing a URL forgets its position`() async throws {
    try await withCache { cache, directory in
      let (media, other) = (try url("https://h/a.mp4"), try url("https://h/b.mp4"))
      let positions = await PlaybackPositions.open(for: cache)
      for one in [media, other] { positions.keep(.at(60), for: one) }
      await positions.flush()
      let key = cache.key(for: try #require(media.resource))
      try await PlaybackPositions.remove(key, from: cache)
      let left = await PlaybackPositions.open(for: cache)
      #expect([media, other].map { left.mark(for: $0) } == [nil, .at(60)])
      try await cache.removeAll()
      #expect(await PlaybackPositions.open(for: cache).mark(for: other) == nil)
    }
  }

  @Test func `The oldest positions beyond the capacity are forgotten`() async throws {
    try await withCache { cache, directory in
      var policy = ResumptionPolicy()
      policy.capacity = 5
      let positions = await PlaybackPositions.open(for: cache, policy: policy)
      for number in 0..<12 {
        positions.keep(
          .at(60, age: Double(-number)), for: try url("https://h/\(number).mp4"), syncs: false)
        await positions.flush()
      }
      #expect(try files(in: directory).count == 5)
      for positions in [positions, await PlaybackPositions.open(for: cache, policy: policy)] {
        let kept = try (0..<12).filter {
          positions.mark(for: try url("https://h/\($0).mp4")) != nil
        }
        #expect(kept == Array(7..<12))
      }
    }
  }

  @Test func `A position is kept after the clock was set back`() async throws {
    try await withCache { cache, _ in
      var policy = ResumptionPolicy()
      policy.capacity = 2
      let positions = await PlaybackPositions.open(for: cache, policy: policy)
      let media = try (0..<3).map { try url("https://h/\($0).mp4") }
      for (one, age) in zip(media, [10, 0, 1000.0]) { positions.keep(.at(60, age: age), for: one) }
      #expect(media.map { positions.mark(for: $0) != nil } == [false, true, true])
    }
  }

  @Test func `Removing everything also forgets the positions in memory`() async throws {
    try await withCache { cache, _ in
      let positions = await PlaybackPositions.open(for: cache)
      positions.keep(.at(60), for: film)
      positions.remember(TrackLanguages(audio: "de"))
      await positions.flush()
      // The removal comes before, during or after the storing of these.
      let others = (0..<50).map { Media(URL(filePath: "/films/\($0).mkv")) }
      for other in others { positions.keep(.at(61), for: other, syncs: false) }
      try await cache.removeAll()
      #expect(([film] + others).allSatisfy { positions.mark(for: $0) == nil })
      #expect(positions.languages == TrackLanguages())
      let later = Media(URL(filePath: "/films/later.mkv"))
      positions.keep(.at(90), for: later)
      await positions.flush()
      let found = await PlaybackPositions.open(for: cache)
      #expect(([film] + others).allSatisfy { found.mark(for: $0) == nil })
      #expect(found.mark(for: later) == .at(90) && found.languages == TrackLanguages())
    }
  }

  @Test func `A negative capacity keeps nothing`() async throws {
    try await withCache { cache, directory in
      var policy = ResumptionPolicy()
      policy.capacity = -1
      let positions = await PlaybackPositions.open(for: cache, policy: policy)
      positions.keep(.at(60), for: film)
      await positions.flush()
      // Not even the directory of the files is made.
      let path = directory.appending(path: "cache/private").path()
      #expect(positions.mark(for: film) == nil && !FileManager.default.fileExists(atPath: path))
    }
  }

  @Test func `A damaged or unfinished file costs its own position alone`() async throws {
    try await withCache { cache, directory in
      let seed = TestSeed.next()
      print("REFRAIN_SEED=\(seed)")
      var random = SeededGenerator(seed: seed)
      let positions = await PlaybackPositions.open(for: cache)
      positions.keep(.at(60), for: film)
      await positions.flush()
      let file = try #require(try files(in: directory).first)
      let bytes = try Data(contentsOf: file)
      let other = Media(URL(filePath: "/other.mkv"))
      positions.keep(.at(90), for: other)
      await positions.flush()
      for _ in 0..<40 {
        let end = Int.random(in: 0..<bytes.count, using: &random)
        try bytes.prefix(end).write(to: file)
        try bytes.prefix(end).write(to: file.appendingPathExtension("unfinished"))
        let found = await PlaybackPositions.open(for: cache)
        #expect(found.mark(for: film) == nil && found.mark(for: other) == .at(90))
      }
      for text in [
        #"{"position":-1,"duration":3600,"date":0}"#, #"{"position":1e300,"duration":3600}"#,
        #"{"duration":3600}"#, #"{"position":60,"duration":3600,"volume":7}"#, "[]", "\0",
      ] {
        try Data(text.utf8).write(to: file)
        #expect(await PlaybackPositions.open(for: cache).mark(for: film) == nil, "\(text)")
      }
    }
  }

  @Test func `Any directory can hold the positions`() async throws {
    try await withCache { cache, directory in
      let folder = directory.appending(path: "one/two", directoryHint: .isDirectory)
      let positions = await PlaybackPositions.open(for: cache, in: folder)
      positions.keep(.at(60), for: film)
      positions.remember(TrackLanguages(audio: "de"))
      await positions.flush()
      let found = await PlaybackPositions.open(for: cache, in: folder)
      #expect(found.mark(for: film) == .at(60) && found.languages.audio == "de")
      #expect(await PlaybackPositions.open(for: cache).mark(for: film) == nil)
    }
  }

  @Test func `A language is found under each of its codes`() {
    for code in ["ger", "deu", "de", "DE", "de-AT"] {
      #expect(Set(TrackLanguages.codes(of: code)).isSuperset(of: ["de", "deu", "ger"]), "\(code)")
    }
    #expect(TrackLanguages.codes(of: "en").first == "en")
    for code in ["", "und", "a,b", "é"] { #expect(TrackLanguages.codes(of: code).isEmpty) }
  }
}
