// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// The gains that media state in their tags.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct ReplayGainTests {
    /// A second of a tone with the peak 10,000, whose tags state -6.02 dB for the track (a half)
    /// and -12.04 dB for the album (a quarter): a WAV file with a chunk of ID3v2.3.
    private static let tone: Data = {
      let texts = [
        ("REPLAYGAIN_TRACK_GAIN", "-6.0206 dB"), ("REPLAYGAIN_TRACK_PEAK", "0.9"),
        ("REPLAYGAIN_ALBUM_GAIN", "-12.0412 dB"), ("REPLAYGAIN_ALBUM_PEAK", "0.9"),
      ]
      let frames = texts.flatMap { name, text -> [UInt8] in
        let body = [3] + Array(name.utf8) + [0] + Array(text.utf8)
        return Array("TXXX".utf8) + [0, 0, 0, UInt8(body.count), 0, 0] + body
      }
      let size = [21, 14, 7, 0].map { UInt8(frames.count >> $0 & 0x7F) }
      let tag = Array("ID3".utf8) + [3, 0, 0] + size + frames
      let samples = (0..<8000).flatMap { index in
        let sample = Int16(10_000 * sin(Double(index) * 2 * .pi * 440 / 8000))
        return [UInt8(truncatingIfNeeded: sample), UInt8(truncatingIfNeeded: sample >> 8)]
      }
      return RIFF.wav(
        rate: 8000, channels: 1, bits: 16, samples: Data(samples), chunks: [("id3 ", tag)])
    }()

    @Test(arguments: [(.off, 10_000), (.track, 5000), (.album, 2500)] as [(ReplayGain, Int)])
    func `The stated gain of the track or the album is applied`(
      _ mode: ReplayGain, _ peak: Int
    ) async throws {
      try await Listening.with { listening in
        let media = listening.directory.appending(path: "tone.wav")
        try Self.tone.write(to: media)
        let file = listening.directory.appending(path: "heard.wav")
        let engine = try await MPVEngine(cache: listening.cache, output: .wavFile(file))
        engine.setReplayGain(mode)
        let player = Player(cache: listening.cache, engine: engine)
        let events = player.events()
        player.play([Media(media)])
        for await event in events where event == .status(.ended) { break }
        await player.close()
        let heard = try WAVFile(file).samples.map { abs(Int($0)) }.max() ?? 0
        #expect(abs(heard - peak) <= peak / 100)
      }
    }

    @Test func `The sound devices are listed, the default one first`() async throws {
      let devices = try await MPVEngine.audioDevices()
      #expect(devices.first?.name == "auto")
      #expect(devices.allSatisfy { !$0.name.isEmpty && !$0.description.isEmpty })
      #expect(Set(devices.map(\.name)).count == devices.count)
    }

    @Test(arguments: [nil, "", "[{}]", "no list"])
    func `A list of devices that cannot be read is an error`(_ list: String?) throws {
      #expect(throws: MPVError.self) { try MPVEngine.decoded(list) }
      let devices = try MPVEngine.decoded(#"[{"name":"auto","description":"Autoselect"}]"#)
      #expect(devices == [AudioDevice(name: "auto", description: "Autoselect")])
    }

    @Test func `A device chosen during a recording to a file does not begin the file anew`()
      async throws
    {
      try await Listening.with { listening in
        let media = listening.directory.appending(path: "tone.wav")
        try Self.tone.write(to: media)
        let file = listening.directory.appending(path: "heard.wav")
        let engine = try await MPVEngine(cache: listening.cache, output: .wavFile(file))
        let player = Player(cache: listening.cache, engine: engine)
        let events = player.events()
        player.play([Media(media), Media(media)])
        var begun = 0
        for await event in events {
          // The first one is in the file by now.
          if case .started = event {
            begun += 1
            if begun == 2 { engine.setAudioDevice("null") }
          }
          if event == .status(.ended) { break }
        }
        await player.close()
        let alone = try WAVFile(media).samples.count
        #expect(try WAVFile(file).samples.count > alone)
      }
    }
  }
#endif
