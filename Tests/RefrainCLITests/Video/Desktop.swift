// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import RefrainLocks
  import TestSupport
  import Testing

  /// A display without a screen (Xvfb), on which the program opens windows that tests type into and
  /// take pictures of.
  ///
  /// With `REFRAIN_PICTURES` in the environment, the pictures are kept in that folder.
  struct Desktop {
    /// A window of the program, by X11's number.
    struct Window {
      var id: String
    }

    struct Size: Equatable {
      var width: Int
      var height: Int

      static let film = Size(width: CountingFilm.width, height: CountingFilm.height)
      static let display = Size(width: 800, height: 600)
    }

    /// A window's size, and its distance from the left and the top of the display.
    struct Geometry: Equatable {
      var x: Int
      var y: Int
      var size: Size

      static let wholeDisplay = Geometry(x: 0, y: 0, size: .display)
    }

    struct Failure: Error, CustomStringConvertible {
      var description: String
    }

    let program: Program
    let display: String
    private let server: RunningProgram

    static let isUsable =
      RequiredProgram.xvfb.isUsable && RequiredProgram.xdotool.isUsable
      && RequiredProgram.imageMagick.isUsable && RequiredProgram.ffmpeg.isUsable
      && RequiredLibrary.libmpv.isUsable

    /// Starts a display that ends with the tests.
    init(_ program: Program) async throws {
      self.program = program
      // -noreset: without clients, the server would start over, and refuse the next one meanwhile.
      server = try RunningProgram(
        program, path: try RequiredProgram.xvfb.path.path(percentEncoded: false),
        [
          "-displayfd", "1", "-noreset", "-nolisten", "tcp", "-screen", "0",
          "\(Size.display.width)x\(Size.display.height)x24",
        ])
      display = ":" + (try await server.nextLine()).trimmingCharacters(in: .whitespaces)
    }

    /// Plays as a program of this desktop: events are lines of its output.
    func play(_ arguments: String...) throws -> RunningProgram { try play(arguments) }

    func play(_ arguments: [String]) throws -> RunningProgram {
      try run(
        Program.executable().path(percentEncoded: false),
        ["play", "--json", "--no-mpris"] + arguments)
    }

    /// Starts a program of this desktop.
    func run(_ path: String, _ arguments: [String]) throws -> RunningProgram {
      let variables = ["DISPLAY=\(display)", "LIBGL_ALWAYS_SOFTWARE=1"]
      return try RunningProgram(
        program, path: "/usr/bin/env", variables + [path] + arguments)
    }

    /// Runs a tool to its end, and returns its output.
    @discardableResult
    private func tool(_ tool: RequiredProgram, _ arguments: String...) async throws -> [String] {
      let running = try run(try tool.path.path(percentEncoded: false), arguments)
      var lines: [String] = []
      for await line in running.lines { lines.append(line) }
      guard await running.end() == 0 else {
        throw Failure(description: "\(tool.name) \(arguments): \(running.errors)")
      }
      return lines
    }

    // MARK: Windows

    /// Waits for the program's window.
    func window() async throws -> Window {
      var found: String?
      try await eventually("a window opens") {
        // Fails while there is none.
        found = try? await tool(.xdotool, "search", "--onlyvisible", "--classname", "^refrain$")
          .first
        return found != nil
      }
      return Window(id: try #require(found))
    }

    func title(of window: Window) async throws -> String {
      try await tool(.xdotool, "getwindowname", window.id).joined()
    }

    func geometry(of window: Window) async throws -> Geometry {
      let lines = try await tool(.xdotool, "getwindowgeometry", "--shell", window.id)
      func number(_ name: String) throws -> Int {
        let line = try #require(lines.first { $0.hasPrefix("\(name)=") })
        return try #require(Int(line.dropFirst(name.count + 1)))
      }
      let size = Size(width: try number("WIDTH"), height: try number("HEIGHT"))
      return Geometry(x: try number("X"), y: try number("Y"), size: size)
    }

    /// Presses keys by the names of X11's keysyms.
    func press(_ keys: String..., in window: Window) async throws {
      for key in keys {
        try await tool(.xdotool, "windowfocus", window.id, "key", "--clearmodifiers", key)
      }
    }

    /// Moves the mouse to a place in a window.
    func move(to x: Int, _ y: Int, in window: Window) async throws {
      try await tool(.xdotool, "mousemove", "--window", window.id, "\(x)", "\(y)")
    }

    func close(_ window: Window) async throws { try await tool(.xdotool, "windowclose", window.id) }

    // MARK: Pictures

    /// Returns the number of the film's frame that fills a window of that size (`CountingFilm`).
    func frame(in window: Window, of size: Size = .film, named name: String) async throws -> Int {
      let line = size.height * 2 / 3
      let pixels = try await pixels(of: line..<line + 1, in: window, of: size, named: name)
      let block = size.width / CountingFilm.bits
      return (0..<CountingFilm.bits).reduce(0) { number, bit in
        number | (pixels[bit * block + block / 2] > 127 ? 1 << bit : 0)
      }
    }

    /// Returns the brightness of the pixels of some lines of a window, from the top.
    func pixels(
      of lines: Range<Int>, in window: Window, of size: Size = .film, named name: String
    ) async throws -> [UInt8] {
      let picture = try folder().appending(path: "\(name).png").path(percentEncoded: false)
      let part = program.directory.appending(path: "part.gray")
      try await tool(.imageMagick, "-window", window.id, picture)
      let area = "\(size.width)x\(lines.count)+0+\(lines.lowerBound)"
      try await tool(
        .convert, picture, "-crop", area, "+repage", "-depth", "8",
        "gray:" + part.path(percentEncoded: false))
      let pixels = [UInt8](try Data(contentsOf: part))
      guard pixels.count == size.width * lines.count else {
        throw Failure(description: "The window is not as large as expected: \(picture)")
      }
      return pixels
    }

    /// Waits until a window of that size shows a frame.
    func waits(
      for frame: Int, in window: Window, of size: Size = .film, named name: String
    ) async throws {
      var last = -1
      do {
        try await eventually("frame \(frame)") {
          last = try await self.frame(in: window, of: size, named: name)
          return last == frame
        }
      } catch is NeverHappened {
        throw Failure(description: "Frame \(frame) was never shown, but \(last).")
      }
    }

    private func folder() throws -> URL {
      guard let path = ProcessInfo.processInfo.environment["REFRAIN_PICTURES"], !path.isEmpty else {
        return program.directory
      }
      let folder = URL(filePath: path, directoryHint: .isDirectory)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      return folder
    }
  }

  /// A film of 20 s whose frames contain their numbers: blocks from left to right are the bits, the
  /// lowest first, white for 1. With two sound tracks.
  enum CountingFilm {
    static let (width, height, bits, rate) = (320, 240, 16, 25)

    /// The arguments of ffmpeg for the pictures.
    static let pictures: [String] = [
      "-f", "lavfi", "-i",
      "color=c=black:s=\(bits)x2:r=\(rate):d=20,format=gray,"
        + "geq=lum='if(mod(floor(N/pow(2,X)),2),235,16)',"
        + "scale=\(width):\(height):flags=neighbor,setsar=1,format=yuv420p",
    ]

    private static let encoding = Mutex<Task<Data, any Error>?>(nil)

    /// Writes the film, which is encoded once.
    static func make(_ name: String, in program: Program) async throws -> URL {
      let film = encoding.withLock { encoding in
        if let encoding { return encoding }
        let film = Task {
          var film = Data()
          try await Program.with {
            film = try Data(contentsOf: try await make(languages: ("eng", "deu"), name, in: $0))
          }
          return film
        }
        encoding = film
        return film
      }
      let file = program.directory.appending(path: name)
      try await film.value.write(to: file)
      return file
    }

    /// - Parameter languages: those of the sound tracks.
    static func make(
      languages: (String, String), _ name: String, in program: Program
    ) async throws -> URL {
      let file = program.directory.appending(path: name)
      try await encode(
        pictures + [
          "-f", "lavfi", "-i", "sine=330:d=20:r=8000", "-f", "lavfi", "-i", "sine=440:d=20:r=8000",
          "-map", "0", "-map", "1", "-map", "2", "-c:v", "mpeg4", "-q:v", "2", "-g", "\(rate)",
          "-c:a", "pcm_s16le", "-metadata:s:a:0", "language=\(languages.0)", "-metadata:s:a:1",
          "language=\(languages.1)",
        ], file, program)
      return file
    }

    /// A song of one second with a cover.
    static func song(_ name: String, in program: Program) async throws -> URL {
      let cover = program.directory.appending(path: "cover.png")
      try await encode(
        ["-f", "lavfi", "-i", "color=c=red:s=64x64", "-frames:v", "1"], cover, program)
      let file = program.directory.appending(path: name)
      try await encode(
        [
          "-f", "lavfi", "-i", "sine=330:d=1", "-i", cover.path(percentEncoded: false), "-map", "0",
          "-map", "1", "-c:a", "flac", "-c:v", "copy", "-disposition:v:0", "attached_pic",
        ], file, program)
      return file
    }

    static func encode(
      _ arguments: [String], _ file: URL, _ program: Program
    ) async throws {
      let ffmpeg = try RunningProgram(
        program, path: try RequiredProgram.ffmpeg.path.path(percentEncoded: false),
        ["-hide_banner", "-loglevel", "error", "-y"] + arguments
          + [file.path(percentEncoded: false)])
      for await _ in ffmpeg.lines {}
      guard await ffmpeg.end() == 0 else { throw Desktop.Failure(description: ffmpeg.errors) }
    }
  }

  /// The events of `play --json` that tests wait for, as parts of their lines.
  enum PlayEvents {
    static let started = #""event":"started""#
    static let isPaused = #""status":"paused""#
  }

  extension RunningProgram {
    /// Reads events until each of these texts was part of one, in any order.
    func events(_ texts: String...) async throws {
      var missing = texts
      while !missing.isEmpty {
        let line = try await nextLine()
        missing.removeAll { line.contains($0) }
      }
    }

    /// Reads events until an item has started.
    func started(_ name: String) async throws {
      while true {
        let line = try await nextLine()
        if line.contains(PlayEvents.started), line.contains(name) { return }
      }
    }
  }
#endif
