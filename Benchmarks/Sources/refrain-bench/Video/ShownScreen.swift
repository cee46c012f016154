// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  /// An X display without a monitor, whose picture is a file in memory (Xvfb(1), `-fbdir`): reading
  /// pixels costs the display and its clients nothing.
  final class ShownScreen {
    // Films of 1920×1080 fit unscaled.
    private static let (width, height) = (2560, 1440)

    let name: String
    private let server: Child
    private let memory: UnsafeMutableRawPointer
    private let count: Int
    private let pixels: Int
    private let bytesPerLine: Int

    init(in directory: URL) throws {
      server = try Child(
        "Xvfb",
        ["-displayfd", "1", "-noreset", "-nolisten", "tcp", "-br", "-fbdir", directory.path]
          + ["-screen", "0", "\(Self.width)x\(Self.height)x24"], quiet: true)
      let number = try? server.line()
      let file = open(directory.appending(path: "Xvfb_screen0").path, O_RDONLY | O_CLOEXEC)
      defer { if file >= 0 { close(file) } }
      var status = stat()
      guard let number, !number.isEmpty, file >= 0, fstat(file, &status) == 0,
        let memory = mmap(nil, Int(status.st_size), PROT_READ, MAP_SHARED, file, 0),
        memory != MAP_FAILED
      else {
        server.stop()
        throw Failure("Xvfb has not started")
      }
      self.memory = memory
      count = Int(status.st_size)
      name = ":" + number
      // The header of XWD (X11/XWDFile.h): words of 32 bits, the highest byte first; its own size,
      // the bytes of a line, and the number of colours, of twelve bytes each, that follow it.
      func word(_ index: Int) -> Int {
        Int(UInt32(bigEndian: memory.load(fromByteOffset: index * 4, as: UInt32.self)))
      }
      (pixels, bytesPerLine) = (word(0) + word(19) * 12, word(12))
      guard pixels + bytesPerLine * Self.height <= count, bytesPerLine >= Self.width * 4 else {
        stop()
        throw Failure("Xvfb's picture has an unknown form")
      }
    }

    func stop() {
      munmap(memory, count)
      server.stop()
    }

    /// Whether a picture covers the middle of the screen, where nothing else is ever drawn: the
    /// screen and empty windows are black.
    var isLit: Bool {
      (0..<16).allSatisfy { point in
        let x = Self.width / 2 + (point % 4 - 2) * 100
        let y = Self.height / 2 + (point / 4 - 2) * 50
        let pixel = memory.load(fromByteOffset: pixels + y * bytesPerLine + x * 4, as: UInt32.self)
        return pixel & 0xFF_FFFF != 0
      }
    }

    /// Waits until a picture is shown, or none any more, and returns the time.
    func wait(isLit: Bool) throws -> Double {
      let start = Monotonic.now
      while self.isLit != isLit {
        guard Monotonic.now - start < 20 else {
          throw Failure(isLit ? "no picture was shown" : "a picture stays on the screen")
        }
        usleep(500)
      }
      return Monotonic.now
    }
  }
#endif
