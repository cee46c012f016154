// SPDX-License-Identifier: MIT
#if os(Linux)
  import ArgumentParser
  import Foundation
  import Refrain
  import RefrainPlayer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// `refrain play` goes on where the listener was. Without a sound device it plays in real time.
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(TestSeed.minutes(2))))
  struct ResumptionProgramTests {
    /// Makes silent media of eleven minutes and forty seconds, and returns their paths. The files
    /// are sparse.
    private func films(_ names: [String], _ program: Program) throws -> [String] {
      let (seconds, rate) = (700, 16_000)
      func bytes(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
      }
      let size = seconds * rate * 2
      var head = Data("RIFF".utf8) + bytes(36 + size, 4) + "WAVEfmt ".utf8 + bytes(16, 4)
      head += bytes(1, 2) + bytes(1, 2) + bytes(rate, 4) + bytes(rate * 2, 4) + bytes(2, 2)
      head += bytes(16, 2) + "data".utf8 + bytes(size, 4)
      return try names.map { name in
        let url = program.directory.appending(path: name)
        try head.write(to: url)
        let file = try FileHandle(forWritingTo: url)
        try file.truncate(atOffset: UInt64(head.count + size))
        try file.close()
        return url.path(percentEncoded: false)
      }
    }

    private struct Heard {
      var url: String?
      /// The first position after the first sound, and the last one.
      var first: Double?
      var last: Double?
    }

    private struct Event: Decodable {
      var event: String
      var url: String?
      var seconds: Double?
    }

    /// Plays until so many positions were reported, then ends the program with a signal. What it
    /// wrote before is read to its end.
    private func play(
      _ arguments: [String], _ program: Program, positions: Int, then signal: CInt
    ) async throws -> Heard {
      let running = try RunningProgram(program, ["play", "--json", "--no-mpris"] + arguments)
      var heard = Heard()
      var count = 0
      var hasStarted = false
      for await line in running.lines {
        let event = try JSONDecoder().decode(Event.self, from: Data(line.utf8))
        switch event.event {
        case "item": heard.url = event.url
        case "started": hasStarted = true
        case "position" where hasStarted:
          heard.first = heard.first ?? event.seconds
          heard.last = event.seconds
          count += 1
          if count == positions { running.send(signal) }
        default: break
        }
      }
      let status = await running.end()
      #expect(status == (signal == SIGKILL ? -SIGKILL : 128 + signal), "\(running.errors)")
      return heard
    }

    @Test func `Killed at any time, it goes on within two seconds, in the same queue`() async throws
    {
      let seed = TestSeed.next()
      print("REFRAIN_SEED=\(seed)")
      var random = SeededGenerator(seed: seed)
      try await Program.with { program in
        let films = try films(["a.wav", "b.wav", "c.wav"], program)
        let start = Int.random(in: 10..<600, using: &random)
        var before = try await play(
          ["--shuffle", "--repeat", "all", "--start", "\(start)", "--volume", "30"] + films,
          program,
          positions: Int.random(in: 1..<15, using: &random), then: SIGKILL)
        #expect(abs(try #require(before.first) - Double(start)) < 1)
        let queue = try await storedSession(program).queue
        #expect(queue.items.map { $0.media.url.path(percentEncoded: false) } == films)
        #expect(queue.isShuffled && queue.repeatMode == .all)
        for _ in 0..<(TestSeed.isSoak ? 50 : 2) {
          let now = try await play(
            ["--resume"], program, positions: Int.random(in: 1..<15, using: &random),
            then: SIGKILL)
          #expect(now.url == before.url)
          let (left, taken) = (try #require(before.last), try #require(now.first))
          #expect(abs(taken - left) <= 2, "It was left at \(left), and went on at \(taken).")
          let session = try await storedSession(program)
          #expect(session.queue == queue && session.volume == 0.3)
          before = now
        }
      }
    }

    private func storedSession(_ program: Program) async throws -> PlayerSession {
      let cache = try MediaCache(directory: program.cache)
      let session = try await SavedSession(for: cache).load()
      await cache.close()
      return try #require(session)
    }

    @Test func `A film goes on where it was left until it is removed`() async throws {
      try await Program.with { program in
        let film = try #require(try films(["film.wav"], program).first)
        let before = try await play(
          ["--start", "300", film], program, positions: 3, then: SIGTERM)
        let again = try await play([film], program, positions: 1, then: SIGTERM)
        // Ended in order, it loses nothing but what was on its way.
        let (left, taken) = (try #require(before.last), try #require(again.first))
        #expect(left >= 300 && abs(taken - left) <= 1, "\(left), \(taken)")
        let fromStart = try await play(
          ["--from-start", film], program, positions: 1, then: SIGKILL)
        #expect(try #require(fromStart.first) < 10)
        _ = try await play(["--start", "300", film], program, positions: 3, then: SIGTERM)
        func positions() throws -> [String] {
          try FileManager.default.contentsOfDirectory(
            atPath: program.cache.appending(path: "private").path(percentEncoded: false)
          ).filter { $0.hasPrefix("position-") && !$0.contains(".") }
        }
        #expect(try positions().count == 1)
        #expect(try await program.run("rm", "--all").status == 0)
        #expect(try positions().isEmpty)
        let after = try await play([film], program, positions: 1, then: SIGKILL)
        #expect(try #require(after.first) < 10)
      }
    }

    @Test func `Without a stored queue or a known device, the error says what to do`()
      async throws
    {
      try await Program.with { program in
        let run = try await program.run("play", "--resume")
        #expect(run.status == 1)
        #expect(run.errors.contains("There is no queue to go on with. 'refrain play' stores"))
        let device = try await program.run("play", "--device", "no such", "--plain", "http://h/a")
        #expect(device.status == 1 && device.errors.contains("There is no sound device no such."))
        let list = try await program.run("play", "--device", "list")
        #expect(list.status == 0 && list.lines.contains { $0.hasPrefix("auto ") })
      }
    }

    @Test(arguments: [
      ["--resume", "a.wav"], ["--resume", "--start", "3"], ["--resume", "--from-start"],
      ["--resume", "--sample"], ["--resume", "--audio-output", "o.wav"], ["--rate", "5", "a.wav"],
      ["--rate", "0.2", "a.wav"], ["--rate", "nan", "a.wav"], ["--replaygain", "loud", "a.wav"],
      ["--device", "x", "--audio-output", "o.wav", "a.wav"], [],
      ["--resume", "--header", "Authorization: x"],
      ["--audio-output", "o.wav", "--repeat", "all", "a.wav"],
    ])
    func `Options that exclude each other, or are out of range, are refused`(
      _ arguments: [String]
    ) throws {
      #expect(throws: (any Error).self) { try PlayCommand.parse(arguments) }
    }

    @Test(arguments: [["a.wav"], ["--resume"], ["--sample"]])
    func `The list of devices and media to play exclude each other`(_ arguments: [String]) throws {
      let error = try #require(throws: (any Error).self) {
        try PlayCommand.parse(["--device", "list"] + arguments)
      }
      #expect(PlayCommand.message(for: error).contains("'--device list' plays nothing"))
    }

    @Test func `The options of listening are read`() throws {
      let command = try PlayCommand.parse([
        "--rate", "0.25", "--replaygain", "album", "--device", "x", "--from-start", "a.wav",
      ])
      #expect(command.listening.rate == 0.25 && command.listening.replayGain == .album)
      #expect(command.listening.device == "x" && command.listening.fromStart)
      let resumed = try PlayCommand.parse(["--resume"])
      #expect(resumed.listening.resume && resumed.repeatMode == nil)
      #expect(try PlayCommand.parse(["--resume", "--repeat", "off"]).repeatMode == .off)
      #expect(
        try PlayCommand.parse(["--audio-output", "o", "--repeat", "off", "a.wav"]).volume == nil)
      #expect(try PlayCommand.parse(["--device", "list"]).listening.listsDevices)
    }

    @Test(
      arguments: [
        ("alsa/hw", "alsa/hw"), ("usb sound 2", "pulse/usb2"), ("CAFÉ", "pulse/cafe"),
        ("cafe", "pulse/cafe"), ("alsa/hw:1,0", "alsa/hw:1,0"), ("headphones", nil),
        ("sound card", nil), ("sound", "jack/usb"), ("usb", "jack/usb"), ("hdmi", "alsa/hdmi"),
        ("default", "alsa"), ("oss/dsp", nil),
      ] as [(String, String?)])
    func `A device is found by its name or a part of its description`(
      _ text: String, _ name: String?
    ) throws {
      let devices = [
        ("auto", "Autoselect device"), ("alsa", "Default (alsa)"), ("alsa/hw", "Sound card"),
        ("alsa/hw2", "Sound card 2"), ("alsa/hdmi", "HDMI"), ("pulse/usb", "USB sound"),
        ("pulse/usb2", "USB sound 2"), ("pulse/cafe", "Café"), ("pulse/hdmi", "HDMI"),
        ("jack/usb", "USB sound at a port"),
      ].map { AudioDevice(name: $0.0, description: $0.1) }
      guard let name else {
        #expect(throws: ProgramError.self) { try SoundDevices.find(text, among: devices) }
        return
      }
      #expect(try SoundDevices.find(text, among: devices) == name)
    }
  }
#endif
