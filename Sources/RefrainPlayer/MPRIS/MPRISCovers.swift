// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Glibc
  import Refrain
  import RefrainLocks

  /// The pictures that a desktop reads, as files in a folder that nobody else can read. The folder
  /// is made with the first picture, and removed when this object is released.
  final class MPRISCovers: Sendable {
    private struct Contents {
      var folder: URL?
      var files: [URL] = []
      var number = 0
    }

    private let parent: URL
    private let name: String
    /// Held while files are written and removed, on threads for that: otherwise two first pictures
    /// would make two folders.
    private let contents = Mutex(Contents())

    /// - Parameters:
    ///   - name: the beginning of the folder's name.
    ///   - environment: names the user's runtime directory (XDG_RUNTIME_DIR).
    init(
      _ name: String,
      environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
      let runtime = environment["XDG_RUNTIME_DIR"].flatMap { $0.isEmpty ? nil : $0 }
      parent =
        runtime.map { URL(filePath: $0, directoryHint: .isDirectory) }
        ?? FileManager.default.temporaryDirectory
      self.name = name.replacing("/", with: "_")
    }

    deinit {
      // What is not removed here goes with the user's session.
      contents.withLock { Self.removeAll(of: &$0) }
    }

    /// Writes a picture, under a name not used before: desktops keep pictures by their URL. Keeps
    /// the previous picture, because a desktop may still be reading it.
    ///
    /// - Throws: `CocoaError` or `POSIXError` if it cannot be written.
    func store(_ picture: Data) async throws -> URL {
      try await IOThreads.background.run { [self] in
        try contents.withLock { try write(picture, into: &$0) }
      }
    }

    /// Removes everything.
    func remove() async {
      await IOThreads.background.run { [self] in
        contents.withLock { Self.removeAll(of: &$0) }
      }
    }

    // MARK: Files

    private func write(_ picture: Data, into contents: inout Contents) throws -> URL {
      let folder = try contents.folder ?? makeFolder()
      contents.folder = folder
      contents.number += 1
      let file = folder.appending(
        path: Self.name(of: picture, contents.number), directoryHint: .notDirectory)
      for old in contents.files.dropLast() { try? FileManager.default.removeItem(at: old) }
      contents.files = contents.files.suffix(1) + [file]
      try Self.write(picture, to: file)
      return file
    }

    /// Returns a name with the extension of the picture's format, for desktops that look at names.
    private static func name(of picture: Data, _ number: Int) -> String {
      let format = PictureFormat(beginning: picture)
      return "\(number)" + (format.map { ".\($0.fileExtension)" } ?? "")
    }

    private static func removeAll(of contents: inout Contents) {
      if let folder = contents.folder { try? FileManager.default.removeItem(at: folder) }
      (contents.folder, contents.files) = (nil, [])
    }

    private func makeFolder() throws -> URL {
      let template = parent.appending(path: "\(name)-XXXXXX", directoryHint: .notDirectory)
        .path(percentEncoded: false)
      // Mode 0700 (mkdtemp(3)).
      var bytes = Array(template.utf8CString)
      guard mkdtemp(&bytes) != nil else { throw Self.systemError() }
      let path = String(decoding: bytes.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      return URL(filePath: path, directoryHint: .isDirectory)
    }

    private static func write(_ picture: Data, to file: URL) throws {
      let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
      let descriptor = open(file.path(percentEncoded: false), flags, 0o600)
      guard descriptor >= 0 else { throw systemError() }
      let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
      try handle.write(contentsOf: picture)
      try handle.close()
    }

    private static func systemError() -> POSIXError {
      POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
  }
#endif
