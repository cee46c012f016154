// SPDX-License-Identifier: MIT
#if os(Linux)
  import CSDBus
  import Dispatch
  import Foundation
  import Glibc
  import Testing

  @testable import RefrainPlayer

  /// A client on a bus, whose calls wait for their answers on a thread of its own.
  final class BusClient: Sendable {
    struct Signal: Sendable {
      var interface: String
      var member: String
      var values: [BusItem]
    }

    struct Failure: Error, Equatable {
      var name: String
      var text: String
    }

    private let queue = DispatchQueue(label: "refrain.bus-client")
    /// Unchecked: used on the queue only.
    private struct Connection: @unchecked Sendable {
      let sd: BusFunctions
      let more: MoreBusFunctions
      let bus: OpaquePointer
    }
    private let connection: Connection

    init(_ address: String) throws {
      let sd = try #require(SystemdLibrary.load())
      let more = try MoreBusFunctions()
      var created: OpaquePointer?
      try check(sd.new_(&created))
      let bus = try #require(created)
      try check(sd.set_address(bus, address))
      try check(sd.set_bus_client(bus, 1))
      try check(sd.start(bus))
      connection = Connection(sd: sd, more: more, bus: bus)
    }

    deinit {
      connection.sd.close(connection.bus)
      _ = connection.sd.unref(connection.bus)
    }

    private func onQueue<Value: Sendable>(
      _ work: @escaping @Sendable (Connection) throws -> Value
    ) async throws -> Value {
      try await withCheckedThrowingContinuation { continuation in
        queue.async { [connection] in
          continuation.resume(with: Result { try work(connection) })
        }
      }
    }

    /// Calls a method, and returns the values of its answer.
    ///
    /// - Throws: `Failure` with the error that was answered.
    @discardableResult
    func call(
      _ destination: String, _ path: String, _ interface: String, _ member: String,
      _ arguments: [BusArgument] = []
    ) async throws -> [BusItem] {
      try await onQueue { connection in
        let (sd, more) = (connection.sd, connection.more)
        var created: OpaquePointer?
        try check(more.newCall(connection.bus, &created, destination, path, interface, member))
        let call = try #require(created)
        defer { _ = sd.message_unref(call) }
        for argument in arguments {
          let message = BusMessage(sd: sd, pointer: call)
          switch argument {
          case .value(let value): try message.append(value)
          case .variant(let value):
            try check(
              sd.message_open_container(call, CChar(UInt8(ascii: "v")), value.signature))
            try message.append(value)
            try check(sd.message_close_container(call))
          }
        }
        var error = sd_bus_error()
        var answer: OpaquePointer?
        let result = more.call(connection.bus, call, 30_000_000, &error, &answer)
        defer { more.freeError(&error) }
        guard result >= 0, let answer else {
          throw Failure(
            name: error.name.map { String(cString: $0) } ?? "\(result)",
            text: error.message.map { String(cString: $0) } ?? "")
        }
        defer { _ = sd.message_unref(answer) }
        return try BusReader(sd: sd, more: more, pointer: answer).items()
      }
    }

    /// Receives the signals of everybody from now on.
    func listen() async throws {
      try await call(
        "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch",
        [.value(.string("type='signal',path='\(MPRISInterface.path)'"))])
    }

    /// Returns the signals that have arrived.
    func signals() async throws -> [Signal] {
      try await onQueue { connection in
        let (sd, more) = (connection.sd, connection.more)
        var signals: [Signal] = []
        while true {
          var message: OpaquePointer?
          guard try check(sd.process(connection.bus, &message)) > 0 else { return signals }
          guard let message else { continue }
          defer { _ = sd.message_unref(message) }
          guard let interface = more.interface(message), let member = sd.message_get_member(message)
          else { continue }
          signals.append(
            Signal(
              interface: String(cString: interface), member: String(cString: member),
              values: try BusReader(sd: sd, more: more, pointer: message).items()))
        }
      }
    }
  }

  enum BusArgument: Sendable {
    case value(DBusValue)
    case variant(DBusValue)
  }

  /// Any value of a message; variants are what they contain.
  indirect enum BusItem: Sendable, Hashable {
    case text(String)
    case number(Int64)
    case double(Double)
    case bool(Bool)
    case list([BusItem])
    case map([String: BusItem])
  }

  /// The functions of sd-bus that only clients use.
  struct MoreBusFunctions: Sendable {
    typealias Text = UnsafePointer<CChar>
    let newCall:
      @convention(c) @Sendable (
        OpaquePointer, UnsafeMutablePointer<OpaquePointer?>, Text, Text, Text, Text
      ) -> CInt
    let call:
      @convention(c) @Sendable (
        OpaquePointer, OpaquePointer, UInt64, UnsafeMutablePointer<sd_bus_error>,
        UnsafeMutablePointer<OpaquePointer?>
      ) -> CInt
    let freeError: @convention(c) @Sendable (UnsafeMutablePointer<sd_bus_error>) -> Void
    let interface: @convention(c) @Sendable (OpaquePointer) -> Text?
    let peek:
      @convention(c) @Sendable (
        OpaquePointer, UnsafeMutablePointer<CChar>, UnsafeMutablePointer<Text?>
      ) -> CInt

    init() throws {
      let library = try #require(dlopen(SystemdLibrary.name, RTLD_NOW | RTLD_LOCAL))
      func function<Function>(_ symbol: String) throws -> Function {
        unsafeBitCast(try #require(dlsym(library, "sd_bus_" + symbol)), to: Function.self)
      }
      newCall = try function("message_new_method_call")
      call = try function("call")
      freeError = try function("error_free")
      interface = try function("message_get_interface")
      peek = try function("message_peek_type")
    }
  }

  /// Reads any message.
  struct BusReader {
    let sd: BusFunctions
    let more: MoreBusFunctions
    let pointer: OpaquePointer

    /// Returns the values up to the end of the message or the container.
    func items() throws -> [BusItem] {
      var items: [BusItem] = []
      while let item = try next() { items.append(item) }
      return items
    }

    private func next() throws -> BusItem? {
      var type: CChar = 0
      var contents: UnsafePointer<CChar>?
      guard try check(more.peek(pointer, &type, &contents)) > 0 else { return nil }
      func basic(_ value: UnsafeMutableRawPointer) throws {
        try check(sd.message_read_basic(pointer, type, value))
      }
      func within<Value>(_ read: () throws -> Value) throws -> Value {
        let inner = contents.map { String(cString: $0) } ?? ""
        try check(sd.message_enter_container(pointer, type, inner))
        let value = try read()
        try check(sd.message_exit_container(pointer))
        return value
      }
      switch UnicodeScalar(UInt8(bitPattern: type)) {
      case "s", "o", "g":
        var text: UnsafePointer<CChar>?
        try basic(&text)
        return .text(text.map { String(cString: $0) } ?? "")
      case "x", "t":
        var number: Int64 = 0
        try basic(&number)
        return .number(number)
      case "u", "i":
        var number: Int32 = 0
        try basic(&number)
        return .number(Int64(number))
      case "d":
        var number = 0.0
        try basic(&number)
        return .double(number)
      case "b":
        var number: CInt = 0
        try basic(&number)
        return .bool(number != 0)
      case "v": return try within { try next() }
      case "a" where contents?.pointee == CChar(UInt8(ascii: "{")):
        return try within {
          var map: [String: BusItem] = [:]
          while true {
            var inner: CChar = 0
            var signature: UnsafePointer<CChar>?
            guard try check(more.peek(pointer, &inner, &signature)) > 0 else {
              return .map(map)
            }
            try check(
              sd.message_enter_container(
                pointer, inner, signature.map { String(cString: $0) } ?? ""))
            let entry = try items()
            try check(sd.message_exit_container(pointer))
            guard entry.count == 2, case .text(let key) = entry[0] else {
              throw BusError(number: -EBADMSG)
            }
            map[key] = entry[1]
          }
        }
      case "a": return .list(try within { try items() })
      default: throw BusError(number: -EBADMSG)
      }
    }
  }

  extension DBusValue {
    /// The value as a client reads it.
    var item: BusItem {
      switch self {
      case .string(let text), .path(let text): .text(text)
      case .bool(let isTrue): .bool(isTrue)
      case .int64(let number): .number(number)
      case .double(let number): .double(number)
      case .strings(let texts), .paths(let texts): .list(texts.map { .text($0) })
      case .map(let fields): .map(fields.mapValues(\.item))
      }
    }
  }
#endif
