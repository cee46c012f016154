// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import TestSupport
  import Testing

  /// Parts of one resource, as the listener hears them.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct PartPlaybackTests {
    /// The tune in three parts: whole frames of a CUE sheet.
    private func parts(_ url: URL) -> [Media] {
      let cuts: [Duration] = [.zero, .seconds(4) + .milliseconds(40), .milliseconds(9_200)]
      return cuts.indices.map { index in
        let end = index + 1 < cuts.count ? cuts[index + 1] : nil
        return Media(url, part: Media.Part(start: cuts[index], end: end))
      }
    }

    @Test func `The parts of a resource play one after the other as the whole`() async throws {
      try await Listening.with { listening in
        let heard = try await listening.play(parts(listening.media.url))
        #expect(heard.hasEnded && heard.reports.count == 3)
        // A part begins and ends to the sample, or one off by rounding.
        #expect(abs(heard.samples.count - Tune.samples.count) <= 4 * Tune.channels)
        let durations = heard.events.compactMap { event in
          if case .duration(let time?) = event { time / .seconds(1) } else { nil as Double? }
        }
        for expected in [4.04, 5.16] {
          #expect(durations.contains { abs($0 - expected) < 0.001 }, "\(durations)")
        }
        #expect(listening.log.bytesSentTwice == 0)
      }
    }

    @Test func `One part plays alone, from its start to its end`() async throws {
      try await Listening.with { listening in
        let heard = try await listening.play([parts(listening.media.url)[1]])
        #expect(heard.hasEnded)
        let rate = Double(Tune.sampleRate * Tune.channels)
        let (start, count) = (Int(4.04 * rate), Int(5.16 * rate))
        #expect(abs(heard.samples.count - count) <= 2 * Tune.channels)
        let around = [-1, 0, 1].map { start + $0 * Tune.channels }
        #expect(
          around.contains {
            Array(Tune.samples[$0...].prefix(count / 2))
              == Array(heard.samples.prefix(count / 2))
          })
      }
    }

    @Test func `A part that starts late ends where its resource does`() async throws {
      try await Listening.with { listening in
        let heard = try await listening.play([parts(listening.media.url)[2]], start: .seconds(2))
        #expect(heard.hasEnded)
        let expected = Tune.samples.count / Tune.channels - Int(11.2 * Double(Tune.sampleRate))
        #expect(abs(heard.framesOfTheEnd - expected) <= 2)
        let beyond = try await listening.play([parts(listening.media.url)[0]], start: .seconds(5))
        #expect(beyond.failure?.reason.contains("cannot begin at 0:05: it lasts 0:04.") == true)
        let nowhere = Media(listening.media.url, part: Media.Part(start: .seconds(20)))
        let silence = try await listening.play([nowhere])
        #expect(silence.failure?.reason.contains("no part from 0:20 on: it lasts 0:14.") == true)
      }
    }

    @Test func `Parts play beyond the duration that their file seems to have`() async throws {
      try await Listening.with { listening in
        // Its beginning at a high rate lets its 17 seconds seem to be 3.
        let bytes = SilentMP3.frames(60, kilobits: 320) + SilentMP3.frames(600, kilobits: 32)
        listening.origin.serve(
          OriginResource(.bytes(bytes), contentType: "audio/mpeg", etag: "\"m\""), at: "/m.mp3")
        let cuts: [Duration] = [.zero, .seconds(10), .seconds(11), .seconds(16)]
        let parts = cuts.indices.map { index in
          Media(
            listening.origin.url("/m.mp3"),
            part: Media.Part(start: cuts[index], end: cuts.dropFirst(index + 1).first))
        }
        let (album, whole) = try await play(parts, listening)
        #expect(album.hasEnded && album.reports.allSatisfy { $0.timeToFirstSound != nil })
        #expect(album.reports.count == 4 && abs(whole - 17.2) < 0.3)
        let (alone, second) = try await play([parts[1]], listening)
        #expect(alone.hasEnded && alone.reports.allSatisfy { $0.timeToFirstSound != nil })
        #expect(abs(second - 1) < 0.1)
        let beyond = Media(
          listening.origin.url("/m.mp3"), part: Media.Part(start: .seconds(30)))
        #expect(try await play([beyond], listening).0.failure?.code == .badRange)
      }
    }

    /// Plays media of which the samples may have any format. Returns the seconds of sound.
    private func play(_ media: [Media], _ listening: Listening) async throws -> (Heard, Double) {
      let file = listening.directory.appending(path: "\(UUID().uuidString).wav")
      let engine = try await MPVEngine(cache: listening.cache, output: .wavFile(file))
      let player = Player(cache: listening.cache, engine: engine)
      let events = player.events()
      player.play(media)
      var heard = Heard()
      for await event in events {
        heard.events.append(event)
        if case .report(_, let report) = event { heard.reports.append(report) }
        if heard.isOver { break }
      }
      await player.close()
      guard let bytes = try? Data(contentsOf: file), bytes.count > 44 else { return (heard, 0) }
      // The header states the bytes per second.
      let rate = (28..<32).reversed().reduce(0) { $0 << 8 | Int(bytes[$1]) }
      return (heard, Double(bytes.count - 44) / Double(rate))
    }
  }
#endif
