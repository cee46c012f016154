// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  /// The names on the bus that a player asks for, in turn, until one is free: that of its app, and
  /// then one of its own. A pure value.
  struct BusNames {
    private let name: String
    private let process: Int32
    private var number = 0

    /// More players than run in one process.
    private static let limit = 1000

    /// - Parameter name: the app's name; characters that no name on the bus contains become `_`.
    init(_ name: String, process: Int32 = ProcessInfo.processInfo.processIdentifier) {
      let element = String(
        name.unicodeScalars.prefix(100).map { scalar in
          scalar.isLetterOrDigit || scalar == "-" ? Character(scalar) : "_"
        })
      // An element is not empty, and begins with no digit.
      self.name = element.first.map { $0.isNumber } ?? true ? "_" + element : element
      self.process = process
    }

    /// Returns the next name to ask for; nil if too many are taken.
    mutating func next() -> String? {
      guard number < Self.limit else { return nil }
      defer { number += 1 }
      let base = MPRISInterface.root.rawValue + "." + name
      return number == 0 ? base : "\(base).instance\(process)_\(number)"
    }
  }

  /// The bus of the user's session.
  enum SessionBus {
    /// Returns its address; nil if there is none: a session without D-Bus.
    static func address(
      _ environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> String? {
      if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty {
        return address
      }
      // sd_bus_open_user(3)
      guard let folder = environment["XDG_RUNTIME_DIR"], !folder.isEmpty,
        FileManager.default.fileExists(atPath: folder + "/bus")
      else { return nil }
      return "unix:path=" + escaped(folder + "/bus")
    }

    /// Escapes bytes that an address cannot contain (the D-Bus specification, "Server Addresses").
    private static func escaped(_ path: String) -> String {
      path.utf8.map { byte in
        let character = Unicode.Scalar(byte)
        let isPlain =
          character.isLetterOrDigit || "-_/.\\*".unicodeScalars.contains(character)
        return isPlain ? String(character) : String(format: "%%%02x", Int(byte))
      }.joined()
    }
  }

  extension Unicode.Scalar {
    /// Whether it is a letter or a digit of ASCII.
    fileprivate var isLetterOrDigit: Bool {
      ("a"..."z").contains(self) || ("A"..."Z").contains(self) || ("0"..."9").contains(self)
    }
  }
#endif
