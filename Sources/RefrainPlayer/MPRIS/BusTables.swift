// SPDX-License-Identifier: MIT
#if os(Linux)
  import CSDBus
  import Glibc

  /// The descriptions of the interfaces for sd-bus: an array for each. They are made once, and stay
  /// as long as the process: sd-bus keeps pointers into them.
  final class BusTables: Sendable {
    /// Unchecked: written only by `init`.
    private struct Tables: @unchecked Sendable {
      let pointers: [MPRISInterface: UnsafePointer<sd_bus_vtable>]
    }

    private let tables: Tables

    /// - Parameters:
    ///   - format: the address of `sd_bus_object_vtable_format`.
    ///   - method: receives the calls of all methods.
    ///   - get: writes the values of all properties.
    ///   - set: reads new values of writable properties.
    init(
      format: UnsafePointer<CUnsignedInt>, method: @escaping sd_bus_message_handler_t,
      get: @escaping sd_bus_property_get_t, set: @escaping sd_bus_property_set_t
    ) {
      var pointers: [MPRISInterface: UnsafePointer<sd_bus_vtable>] = [:]
      for interface in MPRISInterface.allCases {
        let entries =
          [Self.start(format)]
          + MPRISMethod.allCases.filter { $0.interface == interface }
          .map { Self.entry($0, method) }
          + MPRISSignalName.allCases.filter { $0.interface == interface }.map(Self.entry)
          + MPRISProperty.allCases.filter { $0.interface == interface }
          .map { Self.entry($0, get, set) }
          + [Self.entry(SD_BUS_VTABLE_END)]
        let table = UnsafeMutablePointer<sd_bus_vtable>.allocate(capacity: entries.count)
        table.initialize(from: entries, count: entries.count)
        pointers[interface] = UnsafePointer(table)
      }
      tables = Tables(pointers: pointers)
    }

    subscript(_ interface: MPRISInterface) -> UnsafePointer<sd_bus_vtable>? {
      tables.pointers[interface]
    }

    // MARK: Entries

    /// Returns an entry that is all zero, except for its type and flags.
    private static func entry(_ type: Int, flags: Int = 0) -> sd_bus_vtable {
      var entry = sd_bus_vtable()
      entry.type_and_flags = UInt64(type) | UInt64(flags) << 8
      return entry
    }

    private static func start(_ format: UnsafePointer<CUnsignedInt>) -> sd_bus_vtable {
      var start = entry(SD_BUS_VTABLE_START, flags: SD_BUS_VTABLE_UNPRIVILEGED)
      start.x.start.element_size = MemoryLayout<sd_bus_vtable>.size
      start.x.start.features = 1
      start.x.start.vtable_format_reference = format
      return start
    }

    private static func entry(
      _ method: MPRISMethod, _ handler: @escaping sd_bus_message_handler_t
    ) -> sd_bus_vtable {
      var entry = entry(SD_BUS_VTABLE_METHOD, flags: SD_BUS_VTABLE_UNPRIVILEGED)
      entry.x.method.member = text(method.rawValue)
      entry.x.method.signature = signature(method.arguments)
      entry.x.method.result = signature(method.results)
      entry.x.method.handler = handler
      entry.x.method.names = names(method.arguments + method.results)
      return entry
    }

    private static func entry(_ signal: MPRISSignalName) -> sd_bus_vtable {
      var entry = entry(SD_BUS_VTABLE_SIGNAL)
      entry.x.signal.member = text(signal.rawValue)
      entry.x.signal.signature = signature(signal.arguments)
      entry.x.signal.names = names(signal.arguments)
      return entry
    }

    private static func entry(
      _ property: MPRISProperty, _ get: @escaping sd_bus_property_get_t,
      _ set: @escaping sd_bus_property_set_t
    ) -> sd_bus_vtable {
      let announcement =
        switch property.announcement {
        case .value: SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE
        case .invalidation: SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION
        case .none: 0
        }
      var entry =
        property.isWritable
        ? entry(
          SD_BUS_VTABLE_WRITABLE_PROPERTY, flags: announcement | SD_BUS_VTABLE_UNPRIVILEGED)
        : entry(SD_BUS_VTABLE_PROPERTY, flags: announcement)
      entry.x.property.member = text(property.rawValue)
      entry.x.property.signature = text(property.signature)
      entry.x.property.get = get
      entry.x.property.set = property.isWritable ? set : nil
      return entry
    }

    // MARK: Texts, never released

    private static func text(_ text: String) -> UnsafePointer<CChar>? {
      strdup(text).map { UnsafePointer($0) }
    }

    private static func signature(_ arguments: [MPRISArgument]) -> UnsafePointer<CChar>? {
      text(arguments.map(\.signature).joined())
    }

    /// Each name ends with a zero byte, and the list with one more.
    private static func names(_ arguments: [MPRISArgument]) -> UnsafePointer<CChar>? {
      var bytes: [UInt8] = []
      for argument in arguments { bytes += argument.name.utf8 + [0] }
      bytes.append(0)
      let names = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
      names.initialize(from: bytes.map { CChar(bitPattern: $0) }, count: bytes.count)
      return UnsafePointer(names)
    }
  }
#endif
