AOTInductorModel::AOTInductorModel(std::shared_ptr<ConstantMap> constants_map,
                                   std::shared_ptr<std::vector<ConstantHandle>> constants_array,
                                   const std::string& device_str,
                                   std::optional<std::string> cubin_dir)
    : AOTInductorModelBase(14,
                           14,
                           0,
                           device_str,
                           std::move(cubin_dir),
                           true) {
    inputs_info_[0].name = "arg0_1";
    inputs_info_[1].name = "arg1_1";
    inputs_info_[2].name = "arg2_1";
    inputs_info_[3].name = "arg3_1";
    inputs_info_[4].name = "arg4_1";
    inputs_info_[5].name = "arg5_1";
    inputs_info_[6].name = "arg6_1";
    inputs_info_[7].name = "arg7_1";
    inputs_info_[8].name = "arg8_1";
    inputs_info_[9].name = "arg9_1";
    inputs_info_[10].name = "arg10_1";
    inputs_info_[11].name = "arg11_1";
    inputs_info_[12].name = "arg12_1";
    inputs_info_[13].name = "arg13_1";
    update_constants_map(std::move(constants_map));
    update_constants_array(std::move(constants_array));
    in_spec_ = R"([1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": "builtins.tuple", "context": "null", "children_spec": [{"type": "builtins.dict", "context": "[\"bool\", \"uint8\", \"uint16\", \"uint32\", \"uint64\", \"int8\", \"int16\", \"int32\", \"int64\", \"float16\", \"bfloat16\", \"float32\", \"float64\", \"complex64\"]", "children_spec": [{"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}]}]}, {"type": "builtins.dict", "context": "[]", "children_spec": []}]}])";
    out_spec_ = R"([1, {"type": "builtins.dict", "context": "[\"bool\", \"uint8\", \"uint16\", \"uint32\", \"uint64\", \"int8\", \"int16\", \"int32\", \"int64\", \"float16\", \"bfloat16\", \"float32\", \"float64\", \"complex64\"]", "children_spec": [{"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}]}])";
    outputs_info_[0].name = "output0";
    outputs_info_[1].name = "output1";
    outputs_info_[2].name = "output2";
    outputs_info_[3].name = "output3";
    outputs_info_[4].name = "output4";
    outputs_info_[5].name = "output5";
    outputs_info_[6].name = "output6";
    outputs_info_[7].name = "output7";
    outputs_info_[8].name = "output8";
    outputs_info_[9].name = "output9";
    outputs_info_[10].name = "output10";
    outputs_info_[11].name = "output11";
    outputs_info_[12].name = "output12";
    outputs_info_[13].name = "output13";
    this->kernels_ = std::make_unique<AOTInductorModelKernels>();
}

std::unordered_map<std::string, AtenTensorHandle> AOTInductorModel::const_run_impl(
    DeviceStreamType stream,
    AOTIProxyExecutorHandle proxy_executor,
    bool initialization
) {

    if (!initialization) {
        std::cerr << "[WARNING] Calling constant_folding in model, but compiled with config: "
    }
    return {};
}
} // namespace torch::aot_inductor
using namespace torch::aot_inductor;
namespace torch::aot_inductor {

void AOTInductorModel::_const_run_impl(
    std::vector<AtenTensorHandle>& output_handles,
    DeviceStreamType stream,
    AOTIProxyExecutorHandle proxy_executor
) {}

AOTI_NOINLINE static void check_input_0(
    AtenTensorHandle* input_handles
) {
    ConstantHandle arg0_1 = ConstantHandle(input_handles[0]);
    int32_t arg0_1_dtype;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(arg0_1, &arg0_1_dtype));

    int32_t arg0_1_expected_dtype = aoti_torch_dtype_bool();
    if (arg0_1_expected_dtype != arg0_1_dtype) {
    }
    auto arg0_1_size = arg0_1.sizes();

    if (arg0_1_size[0] < 2) {
    }

    if (3 != arg0_1_size[1]) {
    }
    auto arg0_1_stride = arg0_1.strides();

    if (3 != arg0_1_stride[0]) {
    }

    if (1 != arg0_1_stride[1]) {
    }
    int32_t arg0_1_device_type;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(arg0_1, &arg0_1_device_type));

    int32_t arg0_1_expected_device_type = 0;
    if (arg0_1_expected_device_type != arg0_1_device_type) {
    }
}

AOTI_NOINLINE static void check_input_1(
    AtenTensorHandle* input_handles
) {
    ConstantHandle arg1_1 = ConstantHandle(input_handles[1]);
    int32_t arg1_1_dtype;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(arg1_1, &arg1_1_dtype));

    int32_t arg1_1_expected_dtype = aoti_torch_dtype_uint8();
    if (arg1_1_expected_dtype != arg1_1_dtype) {
    }
    auto arg1_1_size = arg1_1.sizes();

    if (arg1_1_size[0] < 2) {
    }

    if (3 != arg1_1_size[1]) {
    }
    auto arg1_1_stride = arg1_1.strides();

    if (3 != arg1_1_stride[0]) {
    }

    if (1 != arg1_1_stride[1]) {
    }
    int32_t arg1_1_device_type;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(arg1_1, &arg1_1_device_type));

    int32_t arg1_1_expected_device_type = 0;
    if (arg1_1_expected_device_type != arg1_1_device_type) {
    }
}

AOTI_NOINLINE static void check_input_2(
    AtenTensorHandle* input_handles
) {
    ConstantHandle arg2_1 = ConstantHandle(input_handles[2]);
    int32_t arg2_1_dtype;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(arg2_1, &arg2_1_dtype));

    int32_t arg2_1_expected_dtype = aoti_torch_dtype_uint16();
    if (arg2_1_expected_dtype != arg2_1_dtype) {
    }
    auto arg2_1_size = arg2_1.sizes();

    if (arg2_1_size[0] < 2) {
    }

    if (3 != arg2_1_size[1]) {
    }
    auto arg2_1_stride = arg2_1.strides();

    if (3 != arg2_1_stride[0]) {
    }

    if (1 != arg2_1_stride[1]) {
    }
    int32_t arg2_1_device_type;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(arg2_1, &arg2_1_device_type));

    int32_t arg2_1_expected_device_type = 0;
    if (arg2_1_expected_device_type != arg2_1_device_type) {
    }
}

AOTI_NOINLINE static void check_input_3(
    AtenTensorHandle* input_handles
) {
    ConstantHandle arg3_1 = ConstantHandle(input_handles[3]);
    int32_t arg3_1_dtype;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(arg3_1, &arg3_1_dtype));

    int32_t arg3_1_expected_dtype = aoti_torch_dtype_uint32();
    if (arg3_1_expected_dtype != arg3_1_dtype) {
    }
    auto arg3_1_size = arg3_1.sizes();

    if (arg3_1_size[0] < 2) {
    }

    if (3 != arg3_1_size[1]) {
    }
    auto arg3_1_stride = arg3_1.strides();

    if (3 != arg3_1_stride[0]) {
    }

    if (1 != arg3_1_stride[1]) {
    }
    int32_t arg3_1_device_type;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(arg3_1, &arg3_1_device_type));

    int32_t arg3_1_expected_device_type = 0;
    if (arg3_1_expected_device_type != arg3_1_device_type) {
    }
}

AOTI_NOINLINE static void check_input_4(
    AtenTensorHandle* input_handles
) {
    ConstantHandle arg4_1 = ConstantHandle(input_handles[4]);
    int32_t arg4_1_dtype;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(arg4_1, &arg4_1_dtype));

    int32_t arg4_1_expected_dtype = aoti_torch_dtype_uint64();
    if (arg4_1_expected_dtype != arg4_1_dtype) {
    }
    auto arg4_1_size = arg4_1.sizes();

    if (arg4_1_size[0] < 2) {
    }

    if (3 != arg4_1_size[1]) {
    }
    auto arg4_1_stride = arg4_1.strides();

    if (3 != arg4_1_stride[0]) {
    }

    if (1 != arg4_1_stride[1]) {
    }
    int32_t arg4_1_device_type;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(arg4_1, &arg4_1_device_type));

    int32_t arg4_1_expected_device_type = 0;
    if (arg4_1_expected_device_type != arg4_1_device_type) {
    }
}

AOTI_NOINLINE static void check_input_5(
    AtenTensorHandle* input_handles
) {
    ConstantHandle arg5_1 = ConstantHandle(input_handles[5]);
    int32_t arg5_1_dtype;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(arg5_1, &arg5_1_dtype));

    int32_t arg5_1_expected_dtype = aoti_torch_dtype_int8();
    if (arg5_1_expected_dtype != arg5_1_dtype) {
    }
    auto arg5_1_size = arg5_1.sizes();

    if (arg5_1_size[0] < 2) {
    }

    if (3 != arg5_1_size[1]) {
    }
    auto arg5_1_stride = arg5_1.strides();

    if (3 != arg5_1_stride[0]) {
    }

    if (1 != arg5_1_stride[1]) {
    }
    int32_t arg5_1_device_type;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(arg5_1, &arg5_1_device_type));

    int32_t arg5_1_expected_device_type = 0;
    if (arg5_1_expected_device_type != arg5_1_device_type) {
    }
}

AOTI_NOINLINE static void check_input_6(
    AtenTensorHandle* input_handles
) {
    ConstantHandle arg6_1 = ConstantHandle(input_handles[6]);
    int32_t arg6_1_dtype;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(arg6_1, &arg6_1_dtype));

    int32_t arg6_1_expected_dtype = aoti_torch_dtype_int16();
    if (arg6_1_expected_dtype != arg6_1_dtype) {
    }
    auto arg6_1_size = arg6_1.sizes();

    if (arg6_1_size[0] < 2) {
    }

    if (3 != arg6_1_size[1]) {
    }
    auto arg6_1_stride = arg6_1.strides();

    if (3 != arg6_1_stride[0]) {
    }

    if (1 != arg6_1_stride[1]) {
    }
    int32_t arg6_1_device_type;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(arg6_1, &arg6_1_device_type));

    int32_t arg6_1_expected_device_type = 0;
    if (arg6_1_expected_device_type != arg6_1_device_type) {
    }
}

AOTI_NOINLINE static void check_input_7(
    AtenTensorHandle* input_handles
) {
    ConstantHandle arg7_1 = ConstantHandle(input_handles[7]);
    int32_t arg7_1_dtype;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(arg7_1, &arg7_1_dtype));

    int32_t arg7_1_expected_dtype = aoti_torch_dtype_int32();
    if (arg7_1_expected_dtype != arg7_1_dtype) {
    }
    auto arg7_1_size = arg7_1.sizes();

    if (arg7_1_size[0] < 2) {
    }

    if (3 != arg7_1_size[1]) {
    }
    auto arg7_1_stride = arg7_1.strides();

    if (3 != arg7_1_stride[0]) {
    }

    if (1 != arg7_1_stride[1]) {
    }
    int32_t arg7_1_device_type;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(arg7_1, &arg7_1_device_type));

    int32_t arg7_1_expected_device_type = 0;
    if (arg7_1_expected_device_type != arg7_1_device_type) {
    }
}

AOTI_NOINLINE static void check_input_8(
    AtenTensorHandle* input_handles
) {
    ConstantHandle arg8_1 = ConstantHandle(input_handles[8]);
    int32_t arg8_1_dtype;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(arg8_1, &arg8_1_dtype));

    int32_t arg8_1_expected_dtype = aoti_torch_dtype_int64();
    if (arg8_1_expected_dtype != arg8_1_dtype) {
    }
    auto arg8_1_size = arg8_1.sizes();

    if (arg8_1_size[0] < 2) {
    }

    if (3 != arg8_1_size[1]) {
    }
    auto arg8_1_stride = arg8_1.strides();

    if (3 != arg8_1_stride[0]) {
    }

    if (1 != arg8_1_stride[1]) {
    }
    int32_t arg8_1_device_type;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(arg8_1, &arg8_1_device_type));

    int32_t arg8_1_expected_device_type = 0;
    if (arg8_1_expected_device_type != arg8_1_device_type) {
    }
}

AOTI_NOINLINE static void check_input_9(
    AtenTensorHandle* input_handles
) {
    ConstantHandle arg9_1 = ConstantHandle(input_handles[9]);
    int32_t arg9_1_dtype;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(arg9_1, &arg9_1_dtype));

    int32_t arg9_1_expected_dtype = aoti_torch_dtype_float16();
    if (arg9_1_expected_dtype != arg9_1_dtype) {
    }
    auto arg9_1_size = arg9_1.sizes();

    if (arg9_1_size[0] < 2) {
    }

    if (3 != arg9_1_size[1]) {
    }
    auto arg9_1_stride = arg9_1.strides();

    if (3 != arg9_1_stride[0]) {
    }

    if (1 != arg9_1_stride[1]) {
    }
    int32_t arg9_1_device_type;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(arg9_1, &arg9_1_device_type));

    int32_t arg9_1_expected_device_type = 0;
    if (arg9_1_expected_device_type != arg9_1_device_type) {
    }
}

AOTI_NOINLINE static void check_input_10(
    AtenTensorHandle* input_handles
) {
    ConstantHandle arg10_1 = ConstantHandle(input_handles[10]);
    int32_t arg10_1_dtype;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(arg10_1, &arg10_1_dtype));

    int32_t arg10_1_expected_dtype = aoti_torch_dtype_bfloat16();
    if (arg10_1_expected_dtype != arg10_1_dtype) {
    }
    auto arg10_1_size = arg10_1.sizes();

    if (arg10_1_size[0] < 2) {
    }

    if (3 != arg10_1_size[1]) {
    }
    auto arg10_1_stride = arg10_1.strides();

    if (3 != arg10_1_stride[0]) {
    }

    if (1 != arg10_1_stride[1]) {
    }
    int32_t arg10_1_device_type;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(arg10_1, &arg10_1_device_type));

    int32_t arg10_1_expected_device_type = 0;
    if (arg10_1_expected_device_type != arg10_1_device_type) {
    }
}

AOTI_NOINLINE static void check_input_11(
    AtenTensorHandle* input_handles
) {
    ConstantHandle arg11_1 = ConstantHandle(input_handles[11]);
    int32_t arg11_1_dtype;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(arg11_1, &arg11_1_dtype));

    int32_t arg11_1_expected_dtype = aoti_torch_dtype_float32();
    if (arg11_1_expected_dtype != arg11_1_dtype) {
    }
    auto arg11_1_size = arg11_1.sizes();

    if (arg11_1_size[0] < 2) {
    }

    if (3 != arg11_1_size[1]) {
    }
    auto arg11_1_stride = arg11_1.strides();

    if (3 != arg11_1_stride[0]) {
    }

    if (1 != arg11_1_stride[1]) {
    }
    int32_t arg11_1_device_type;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(arg11_1, &arg11_1_device_type));

    int32_t arg11_1_expected_device_type = 0;
    if (arg11_1_expected_device_type != arg11_1_device_type) {
    }
}

AOTI_NOINLINE static void check_input_12(
    AtenTensorHandle* input_handles
) {
    ConstantHandle arg12_1 = ConstantHandle(input_handles[12]);
    int32_t arg12_1_dtype;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(arg12_1, &arg12_1_dtype));

    int32_t arg12_1_expected_dtype = aoti_torch_dtype_float64();
    if (arg12_1_expected_dtype != arg12_1_dtype) {
    }
    auto arg12_1_size = arg12_1.sizes();

    if (arg12_1_size[0] < 2) {
    }

    if (3 != arg12_1_size[1]) {
    }
    auto arg12_1_stride = arg12_1.strides();

    if (3 != arg12_1_stride[0]) {
    }

    if (1 != arg12_1_stride[1]) {
    }
    int32_t arg12_1_device_type;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(arg12_1, &arg12_1_device_type));

    int32_t arg12_1_expected_device_type = 0;
    if (arg12_1_expected_device_type != arg12_1_device_type) {
    }
}

AOTI_NOINLINE static void check_input_13(
    AtenTensorHandle* input_handles
) {
    ConstantHandle arg13_1 = ConstantHandle(input_handles[13]);
    int32_t arg13_1_dtype;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(arg13_1, &arg13_1_dtype));

    int32_t arg13_1_expected_dtype = aoti_torch_dtype_complex64();
    if (arg13_1_expected_dtype != arg13_1_dtype) {
    }
    auto arg13_1_size = arg13_1.sizes();

    if (arg13_1_size[0] < 2) {
    }

    if (3 != arg13_1_size[1]) {
    }
    auto arg13_1_stride = arg13_1.strides();

    if (3 != arg13_1_stride[0]) {
    }

    if (1 != arg13_1_stride[1]) {
    }
    int32_t arg13_1_device_type;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(arg13_1, &arg13_1_device_type));

    int32_t arg13_1_expected_device_type = 0;
    if (arg13_1_expected_device_type != arg13_1_device_type) {
    }
}

static bool _check_aoti_runtime_check_inputs_env() {
    const static char* env_var_value = getenv("AOTI_RUNTIME_CHECK_INPUTS");
    const static bool result = env_var_value != nullptr && env_var_value[0] != '0';
    return result;
}

AOTI_NOINLINE static void __check_inputs_outputs(
    AtenTensorHandle* input_handles,
    AtenTensorHandle* output_handles) {
    if (!_check_aoti_runtime_check_inputs_env()){
        return;
    }
    check_input_0(input_handles);
    check_input_1(input_handles);
    check_input_2(input_handles);
    check_input_3(input_handles);
    check_input_4(input_handles);
    check_input_5(input_handles);
    check_input_6(input_handles);
    check_input_7(input_handles);
    check_input_8(input_handles);
    check_input_9(input_handles);
    check_input_10(input_handles);
    check_input_11(input_handles);
    check_input_12(input_handles);
    check_input_13(input_handles);
}

void AOTInductorModel::run_impl(
    AtenTensorHandle*
        input_handles, // array of input AtenTensorHandle; handles
                        // are stolen; the array itself is borrowed
    AtenTensorHandle*
        output_handles, // array for writing output AtenTensorHandle; handles
                        // will be stolen by the caller; the array itself is
                        // borrowed
    DeviceStreamType stream,
    AOTIProxyExecutorHandle proxy_executor
) {
    __check_inputs_outputs(input_handles, output_handles);
    auto inputs = steal_from_raw_handles_to_raii_handles(input_handles, 14);
    auto arg0_1 = std::move(inputs[0]);
    auto arg1_1 = std::move(inputs[1]);
    auto arg2_1 = std::move(inputs[2]);
    auto arg3_1 = std::move(inputs[3]);
    auto arg4_1 = std::move(inputs[4]);
    auto arg5_1 = std::move(inputs[5]);
    auto arg6_1 = std::move(inputs[6]);
    auto arg7_1 = std::move(inputs[7]);
    auto arg8_1 = std::move(inputs[8]);
    auto arg9_1 = std::move(inputs[9]);
    auto arg10_1 = std::move(inputs[10]);
    auto arg11_1 = std::move(inputs[11]);
    auto arg12_1 = std::move(inputs[12]);
    auto arg13_1 = std::move(inputs[13]);
    auto arg0_1_size = arg0_1.sizes();
    int64_t s96 = arg0_1_size[0];
    auto arg1_1_size = arg1_1.sizes();
    int64_t s75 = arg1_1_size[0];
    auto arg2_1_size = arg2_1.sizes();
    int64_t s41 = arg2_1_size[0];
    auto arg3_1_size = arg3_1.sizes();
    int64_t s97 = arg3_1_size[0];
    auto arg4_1_size = arg4_1.sizes();
    int64_t s39 = arg4_1_size[0];
    auto arg5_1_size = arg5_1.sizes();
    int64_t s40 = arg5_1_size[0];
    auto arg6_1_size = arg6_1.sizes();
    int64_t s38 = arg6_1_size[0];
    auto arg7_1_size = arg7_1.sizes();
    int64_t s42 = arg7_1_size[0];
    auto arg8_1_size = arg8_1.sizes();
    int64_t s94 = arg8_1_size[0];
    auto arg9_1_size = arg9_1.sizes();
    int64_t s26 = arg9_1_size[0];
    auto arg10_1_size = arg10_1.sizes();
    int64_t s1 = arg10_1_size[0];
    auto arg11_1_size = arg11_1.sizes();
    int64_t s20 = arg11_1_size[0];
    auto arg12_1_size = arg12_1.sizes();
    int64_t s25 = arg12_1_size[0];
    auto arg13_1_size = arg13_1.sizes();
    int64_t s57 = arg13_1_size[0];
    inputs.clear();
    [[maybe_unused]] auto& kernels = static_cast<AOTInductorModelKernels&>(*this->kernels_.get());
    if (_check_aoti_runtime_check_inputs_env()) { assert_size_stride(arg13_1, {s57, 3L}, {3L, 1L}, "input"); }
    // Topologically Sorted Source Nodes: [slice_28], Original ATen: [aten.slice]
    int64_t var_0 = 1L;
    int64_t var_1 = 9223372036854775807L;
    AtenTensorHandle buf1_handle;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_slice_Tensor(arg13_1, 1L, &var_0, &var_1, 1L, &buf1_handle));
    RAIIAtenTensorHandle buf1(buf1_handle);
    if (_check_aoti_runtime_check_inputs_env()) { assert_size_stride(buf1, {s57, 2L}, {3L, 1L}, "torch.ops.aten.slice.Tensor"); }
    arg13_1.reset();
    const int64_t int_array_0[] = {s96, 2L};
    static constexpr int64_t int_array_1[] = {3L, 1L};
    const int64_t int_array_2[] = {s75, 2L};
    const int64_t int_array_3[] = {s41, 2L};
    const int64_t int_array_4[] = {s97, 2L};
    const int64_t int_array_5[] = {s39, 2L};
    const int64_t int_array_6[] = {s40, 2L};
    const int64_t int_array_7[] = {s38, 2L};
    const int64_t int_array_8[] = {s42, 2L};
    const int64_t int_array_9[] = {s94, 2L};
    const int64_t int_array_10[] = {s26, 2L};
    const int64_t int_array_11[] = {s1, 2L};
    const int64_t int_array_12[] = {s20, 2L};
    const int64_t int_array_13[] = {s25, 2L};
    auto var_2 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(arg0_1, 2, int_array_0, int_array_1, 1L));
    auto var_3 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(arg1_1, 2, int_array_2, int_array_1, 1L));
    auto var_4 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(arg2_1, 2, int_array_3, int_array_1, 1L));
    auto var_5 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(arg3_1, 2, int_array_4, int_array_1, 1L));
    auto var_6 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(arg4_1, 2, int_array_5, int_array_1, 1L));
    auto var_7 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(arg5_1, 2, int_array_6, int_array_1, 1L));
    auto var_8 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(arg6_1, 2, int_array_7, int_array_1, 1L));
    auto var_9 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(arg7_1, 2, int_array_8, int_array_1, 1L));
    auto var_10 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(arg8_1, 2, int_array_9, int_array_1, 1L));
    auto var_11 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(arg9_1, 2, int_array_10, int_array_1, 1L));
    auto var_12 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(arg10_1, 2, int_array_11, int_array_1, 1L));
    auto var_13 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(arg11_1, 2, int_array_12, int_array_1, 1L));
    auto var_14 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(arg12_1, 2, int_array_13, int_array_1, 1L));
    output_handles[0] = var_2.release();
    output_handles[1] = var_3.release();
    output_handles[2] = var_4.release();
    output_handles[3] = var_5.release();
    output_handles[4] = var_6.release();
    output_handles[5] = var_7.release();
    output_handles[6] = var_8.release();
    output_handles[7] = var_9.release();
    output_handles[8] = var_10.release();
    output_handles[9] = var_11.release();
    output_handles[10] = var_12.release();
    output_handles[11] = var_13.release();
    output_handles[12] = var_14.release();
    output_handles[13] = buf1.release();
} // AOTInductorModel::run_impl
} // namespace torch::aot_inductor
